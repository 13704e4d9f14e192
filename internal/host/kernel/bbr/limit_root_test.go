package bbr

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/shape"
	"github.com/congctl/congctl/internal/shape/kernel/limit"
)

// TestDisableBelowALimit: a limit put aside what enable put on a link, and has to come off
// first. Until then nothing is taken back, not by force either.
func TestDisableBelowALimit(t *testing.T) { withNamespace(t, disableBelowALimit) }

// TestDisableBelowALimitOfABoot: since the reboot nothing of enable's is below the limit,
// and disable leaves it.
func TestDisableBelowALimitOfABoot(t *testing.T) { withNamespace(t, disableBelowALimitOfABoot) }

func disableBelowALimitOfABoot(t *testing.T, root string) error {
	h, s, live, err := limitable(root)
	if err := errors.Join(err, onceEnabled(h)); err != nil {
		return err
	}
	if _, err := s.Boot(limit.Request{Link: "one", Ask: shape.Ask{Rate: 8e6}}); err != nil {
		return err
	}
	h.Boot = "c"
	h.Engine = carry.New(carry.Options{Disk: carry.HostDisk{Root: root}, Boot: h.Boot, Places: map[change.Kind]carry.Place{
		change.Sysctl: live, change.Module: live, change.Qdisc: carry.Qdiscs{}}})
	r, err := h.Disable(false)
	if err != nil || len(r.Refused) > 0 || len(r.Left) != 1 || r.Left[0].Step.Target != "one" || live[advise.KeyCong] != "cubic" {
		t.Errorf("%+v, %v", r, err)
	}
	if v, err := s.View("one"); err != nil || !v.Ours {
		t.Errorf("the limit: %+v, %v", v, err)
	}
	return nil
}

func disableBelowALimit(t *testing.T, root string) error {
	h, s, live, err := limitable(root)
	if err != nil {
		return err
	}
	before := picture(root, live)
	if err := onceEnabled(h); err != nil {
		return err
	}
	enabled := picture(root, live)
	ask := shape.Ask{Rate: 8e6}
	if _, err := s.Set(limit.Request{Link: "one", Ask: ask}, "shape set one 8Mbit/s", now, nil); err != nil {
		return err
	}
	limited := picture(root, live)
	for _, force := range []bool{false, true} {
		r, err := h.Disable(force)
		if below, ok := errors.AsType[LimitedError](err); !ok || !slices.Equal(below, LimitedError{"one"}) || len(r.Restored) > 0 {
			t.Errorf("force %t: %+v, %v", force, r, err)
		}
		if got := picture(root, live); got != limited {
			t.Errorf("force %t: the host is\n%s\nwant\n%s", force, got, limited)
		}
	}
	if _, err := s.Clear("one", false, now); err != nil || picture(root, live) != enabled {
		t.Errorf("clear: %v; the host is\n%s\nwant\n%s", err, picture(root, live), enabled)
	}
	if r, err := h.Disable(false); err != nil || len(r.Refused)+len(r.Left) > 0 || picture(root, live) != before {
		t.Errorf("disable: %+v, %v; the host is\n%s\nwant\n%s", r, err, picture(root, live), before)
	}
	return nil
}

// TestDisableOfTheRestBelowALimit: what an earlier disable took back of a link is nothing
// that a limit set since lies over.
func TestDisableOfTheRestBelowALimit(t *testing.T) { withNamespace(t, disableOfTheRest) }

func disableOfTheRest(t *testing.T, root string) error {
	h, s, live, err := limitable(root)
	if err := errors.Join(err, onceEnabled(h)); err != nil {
		return err
	}
	live[advise.KeyCong] = "reno"
	if r, err := h.Disable(false); err != nil || len(r.Refused) != 1 || len(r.Restored) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := s.Set(limit.Request{Link: "one", Ask: shape.Ask{Rate: 8e6, Replace: true}}, "shape set one 8Mbit/s", now, nil); err != nil {
		return err
	}
	if r, err := h.Disable(true); err != nil || len(r.Restored) != 1 || live[advise.KeyCong] != "cubic" {
		t.Errorf("by force: %+v, %v", r, err)
	}
	if v, err := s.View("one"); err != nil || !v.Ours {
		t.Errorf("the limit: %+v, %v", v, err)
	}
	return nil
}

// limitable is a host on paper with real links, and what limits them.
func limitable(root string) (h *Host, s *limit.Host, live settings, err error) {
	live = settings{advise.KeyCong: "cubic"}
	h, err = onPaper(root, live)
	s, err2 := limit.NewHost(root, carry.DefaultDir)
	return h, s, live, errors.Join(err, err2, links(), os.MkdirAll(root+"/etc/sysctl.d", 0o755))
}

var now = time.Unix(1_795_000_000, 0)

// onceEnabled does what enable does, with a queue that every kernel has in the place of fq.
func onceEnabled(h *Host) error {
	queue := change.Tree([]change.Node{{Kind: "pfifo", Handle: change.OwnHandle << 16, Parent: change.RootParent, Options: []byte{100, 0, 0, 0}}})
	_, err := h.Engine.Set(Subject, func() (p change.Plan, err error) {
		if p.Header, err = h.Engine.Header(Subject, "host enable bbr", "m", now); err != nil {
			return p, err
		}
		p.Steps, err = change.Complete([]change.Step{
			{Kind: change.Sysctl, Target: advise.KeyCong, New: change.Text("bbr")},
			{Kind: change.Qdisc, Target: "one", New: queue},
			{Kind: change.File, Target: "/etc/sysctl.d/zz-congctl-bbr.conf", New: change.FileText("x\n")},
		}, h.Engine.Read)
		return p, err
	}, nil)
	return err
}
