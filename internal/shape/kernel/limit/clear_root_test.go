package limit

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/shape"
)

// onSystemd makes a host that keeps limits by units.
func onSystemd(t *testing.T) *Host {
	t.Helper()
	h := newTestHost(t)
	if err := os.MkdirAll(filepath.Join(h.Root, "/run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	return h
}

func mustClear(t *testing.T, p pair, h *Host) (r carry.Report) {
	t.Helper()
	in(t, p.a, func() (err error) { r, err = h.Clear("a", false, time.Now()); return err })
	if open, err := h.engine.Open(subject("a")); err != nil || len(open) > 0 || len(r.Refused) > 0 {
		t.Fatalf("%d journals are open, refused %v, %v", len(open), r.Refused, err)
	}
	return r
}

// What an earlier limit of ours had is not made again on the way back: here a kind that
// the kernel need not know any more.
func TestClearGoesStraightBack(t *testing.T) {
	p := newPair(t)
	h, before := newTestHost(t), settings(t, p)
	const first, last = "shaped 7000000 3028 103028 fq_codel", "shaped 1000000 3028 103028 -"
	journalled(t, h, before[change.Egress], first)
	journalled(t, h, first, last)
	set(t, p.a, change.Egress, last)
	report := mustClear(t, p, h)
	if got := settings(t, p); got[change.Egress] != before[change.Egress] || len(report.Restored) != 1 {
		t.Errorf("got %v, %+v", got, report)
	}
}

// The same for what comes in: somebody has put rules of theirs where ours was.
func TestClearGoesStraightBackBesideForeignRules(t *testing.T) {
	p := newPair(t)
	h, r := newTestHost(t), ask(8e6)
	before := settings(t, p)
	r.Ask.Ingress = 8e6
	setOrSkip(t, p, h, r)
	setOrSkip(t, p, h, ask(16e6))
	mustShell(t, p.a, "tc qdisc add dev a clsact\ntc filter add dev a ingress prio 9 protocol all u32 match u32 0 0 classid 1:1")
	report := mustClear(t, p, h)
	if got := settings(t, p); got[change.Ingress] != change.NoIngress || got[change.Egress] != before[change.Egress] || len(report.Restored) != 2 {
		t.Errorf("got %v, %+v", got, report)
	}
	if !strings.Contains(output(t, p.a, "tc filter show dev a ingress"), "pref 9") {
		t.Error("their filter has gone")
	}
}

// With an interface goes what was set on it; its files are taken back.
func TestClearOfALinkThatHasGone(t *testing.T) {
	for name, incoming := range map[string]shape.Rate{"egress": 0, "ingress": 8e6} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			h, r := onSystemd(t), ask(8e6)
			r.Persist, r.Ask.Ingress = true, incoming
			setOrSkip(t, p, h, r)
			setOrSkip(t, p, h, ask(16e6))
			setOrSkip(t, p, h, r)
			mustShell(t, p.a, "ip link del dev a")
			report := mustClear(t, p, h)
			if !strings.Contains(report.Left.String(), "shape-egress a (the interface is gone") {
				t.Errorf("got %+v", report)
			}
			if left, err := filepath.Glob(filepath.Join(h.Root, "/etc/systemd/system/*a.service")); err != nil || len(left) > 0 {
				t.Errorf("files are left: %q, %v", left, err)
			}
			if links := output(t, p.a, "ip link"); strings.Contains(links, "ifb-cc") {
				t.Errorf("an ifb is left: %s", links)
			}
			if err := p.a.Do(func() error { _, err := h.Clear("a", false, time.Now()); return err }); !errors.Is(err, ErrNoLink) {
				t.Errorf("cleared twice: %v", err)
			}
		})
	}
}

// A clear of a limit without a journal that is cut off anywhere leaves no journal by which
// the limit would come back, and the next one ends it.
func TestClearBareIsCut(t *testing.T) {
	p := newPair(t)
	before := settings(t, p)
	for n := 1; ; n++ {
		h := onSystemd(t)
		r := ask(8e6)
		r.Persist = true
		setOrSkip(t, p, h, r)
		if err := os.RemoveAll(filepath.Join(h.Root, h.dir)); err != nil {
			t.Fatal(err)
		}
		h.engine = h.onDisk(&carry.Counted{Disk: h.disk, N: n, Cut: func() error { return carry.ErrPowerCut }})
		err := p.a.Do(func() error { _, err := h.Clear("a", false, time.Now()); return err })
		h.engine = h.onDisk(h.disk)
		open, list := openIn(p, h)
		if err != nil && !errors.Is(err, carry.ErrPowerCut) || list != nil {
			t.Fatal(err, list)
		}
		for _, j := range open {
			if slices.ContainsFunc(j.Steps, func(s change.Step) bool { return shape.IsLimit(s.Old.Text) }) {
				t.Errorf("cut %d: %s (%s) would bring the limit back", n, j.ID, j.Phase)
			}
		}
		if err != nil {
			if end := p.a.Do(func() error { _, err := h.Clear("a", false, time.Now()); return err }); end != nil && !errors.Is(end, ErrNoLimit) {
				t.Fatalf("cut %d: %v", n, end)
			}
		}
		if got := settings(t, p); got[change.Egress] != before[change.Egress] {
			t.Fatalf("cut %d: %q stays", n, got[change.Egress])
		}
		if left, _ := filepath.Glob(filepath.Join(h.Root, "/etc/systemd/system/*a.service")); len(left) > 0 {
			t.Fatalf("cut %d: %q stay", n, left)
		}
		if err == nil {
			break
		}
	}
}

// The ifb of a link that has gone goes, that of another stays.
func TestOrphans(t *testing.T) {
	p := newPair(t)
	mustShell(t, p.a, "ip link add ifb-cc7777 type ifb\nip link add ifb-ccx type ifb\nip link add ifb-cc1 type ifb") // 1 is lo
	in(t, p.a, dropOrphans)
	links := output(t, p.a, "ip link")
	if strings.Contains(links, "ifb-cc7777") || !strings.Contains(links, "ifb-ccx") || !strings.Contains(links, "ifb-cc1") {
		t.Errorf("got\n%s", links)
	}
}

// A deleted interface takes along the ifb of an unconfirmed limit.
func TestRevertOfALinkThatHasGone(t *testing.T) {
	p := newPair(t)
	h := newTestHost(t)
	var head change.Header
	in(t, p.a, func() (err error) { head, err = h.header("a", "test", time.Now()); return err })
	_, err := h.engine.Adopt(change.Plan{Header: head, Steps: []change.Step{{Kind: change.Ingress, Target: "a", Old: change.Text(change.NoIngress), New: change.Text("shaped 1000000 3028 103028 -")}}})
	if err != nil {
		t.Fatal(err)
	}
	in(t, p.a, func() error {
		l, err := Read("a")
		mustShell(t, p.a, "ip link add "+ifbName(l.Index)+" type ifb\nip link del dev a")
		return err
	})
	in(t, p.a, func() error { return h.revert("a", head.ID) })
	if links := output(t, p.a, "ip link"); strings.Contains(links, "ifb-cc") {
		t.Errorf("an ifb is left: %s", links)
	}
}

// TestClearAfterABoot: what enable put on a link went with the boot that it was put in; the
// kernel's own comes back, for enable may have been taken back since. What somebody else
// put there comes back.
func TestClearAfterABoot(t *testing.T) {
	for handle, stays := range map[string]bool{"cc00:": false, "77:": true} {
		p := newPair(t)
		own := get(t, p.a, change.Egress)
		mustShell(t, p.a, "tc qdisc replace dev a root handle "+handle+" pfifo limit 77")
		was := get(t, p.a, change.Egress)
		h, r := newTestHost(t), ask(8e6)
		r.Ask.Replace = true
		setOrSkip(t, p, h, r) // and a boot sets it again
		h.engine = carry.New(carry.Options{Disk: h.disk, Dir: h.dir, Places: Places, Boot: "another"})
		report := mustClear(t, p, h)
		want := map[bool]string{false: own, true: was}[stays]
		if got := get(t, p.a, change.Egress); got != want || len(report.Restored) != 1 {
			t.Errorf("%s: got %s, want %s; %+v", handle, got, want, report)
		}
		if text := report.Restored[0].Text; !stays && !strings.Contains(text, "now the kernel's default, noqueue (it was pfifo") {
			t.Errorf("says %q", text)
		}
	}
}
