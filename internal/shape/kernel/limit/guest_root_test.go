package limit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/shape"
)

// guests are what somebody can hang below our bucket: of another name, of ours and another
// kind, of the kind that the kernel puts there by itself.
var guests = []string{"handle 10: pfifo limit 9", "handle c0c8: pfifo limit 9", "handle 10: bfifo limit 9000", "handle 10: tbf rate 5mbit burst 5k limit 90k",
	"handle 10: fq_codel limit 77", "handle c0c8: sfq limit 100"}

// hosting limits a link and hangs a guest below the bucket.
func hosting(t *testing.T, guest string) (p pair, h *Host, before, now string) {
	t.Helper()
	p, h = newPair(t), newTestHost(t)
	before = get(t, p.a, change.Egress)
	setOrSkip(t, p, h, ask(8e6))
	mustShell(t, p.a, "tc qdisc replace dev a parent c0c7:1 "+guest)
	return p, h, before, get(t, p.a, change.Egress)
}

func (h *Host) clearIn(t *testing.T, p pair, force bool) (r carry.Report) {
	t.Helper()
	in(t, p.a, func() (err error) { r, err = h.Clear("a", force, time.Now()); return err })
	return r
}

// What somebody hung below our bucket goes with it by force only, and is named before; with
// journals, and where those have gone.
func TestGuestIsNamedAndStays(t *testing.T) {
	for _, guest := range guests {
		t.Run(guest, func(t *testing.T) { namedAndStays(t, guest, false) })
		t.Run(guest+" without journals", func(t *testing.T) { namedAndStays(t, guest, true) })
	}
}

func namedAndStays(t *testing.T, guest string, bare bool) {
	p, h, before, now := hosting(t, guest)
	if bare {
		if err := os.RemoveAll(filepath.Join(h.Root, h.dir)); err != nil {
			t.Fatal(err)
		}
	}
	in(t, p.a, func() error {
		v, err := h.View("a")
		if name := strings.Fields(guest)[2] + " " + strings.Fields(guest)[1]; !strings.Contains(strings.Join(v.Warnings, "\n"), name) {
			t.Errorf("show warns of %q", v.Warnings)
		}
		return err
	})
	err := p.a.Do(func() error { _, err := h.Set(ask(16e6), "test", time.Now(), nil); return err })
	if !errors.Is(err, shape.ErrForeign) || get(t, p.a, change.Egress) != now {
		t.Errorf("set: %v, %s", err, get(t, p.a, change.Egress))
	}
	if r := h.clearIn(t, p, false); len(r.Refused) != 1 || get(t, p.a, change.Egress) != now {
		t.Errorf("clear: %+v, %s", r, get(t, p.a, change.Egress))
	}
	h.clearIn(t, p, true)
	if got := get(t, p.a, change.Egress); got != before {
		t.Errorf("by force: %q", got)
	}
}

// The same below the bucket of what comes in.
func TestGuestOfWhatComesIn(t *testing.T) {
	p := newPair(t)
	h, r := newTestHost(t), ask(8e6)
	r.Ask.Ingress = 8e6
	before := settings(t, p)
	setOrSkip(t, p, h, r)
	ifb := ""
	in(t, p.a, func() error {
		l, err := find("a")
		if err == nil {
			ifb = ifbName(l.Attrs().Index)
		}
		return err
	})
	mustShell(t, p.a, "tc qdisc replace dev "+ifb+" parent c0c7:1 "+guests[0])
	now := get(t, p.a, change.Ingress)
	err := p.a.Do(func() error { _, err := h.Set(ask(16e6), "test", time.Now(), nil); return err })
	if !errors.Is(err, shape.ErrForeign) || get(t, p.a, change.Ingress) != now {
		t.Errorf("set: %v, %s", err, get(t, p.a, change.Ingress))
	}
	if r := h.clearIn(t, p, false); len(r.Refused) != 1 || get(t, p.a, change.Ingress) != now {
		t.Errorf("clear: %+v, %s", r, get(t, p.a, change.Ingress))
	}
	h.clearIn(t, p, true)
	for kind, v := range settings(t, p) {
		if v != before[kind] {
			t.Errorf("by force: %s: %q", kind, v)
		}
	}
}

// With --replace it is put aside, and comes back with the limit that it hung below.
func TestGuestComesBack(t *testing.T) {
	for _, guest := range guests {
		t.Run(guest, func(t *testing.T) {
			p, h, before, now := hosting(t, guest)
			r := ask(16e6)
			r.Ask.Replace = true
			setOrSkip(t, p, h, r)
			if got := get(t, p.a, change.Egress); got != "shaped 2000000 3028 203028 -" {
				t.Errorf("set: %q", got)
			}
			if r := h.clearIn(t, p, false); len(r.Refused) != 1 || get(t, p.a, change.Egress) != now {
				t.Errorf("clear: %+v\nbefore %q\nafter  %q", r, now, get(t, p.a, change.Egress))
			}
			h.clearIn(t, p, true)
			if got := get(t, p.a, change.Egress); got != before {
				t.Errorf("by force: %q", got)
			}
		})
	}
}

// A guest that could not be brought back is not put aside.
func TestGuestThatIsStuck(t *testing.T) {
	p, h, _, now := hosting(t, "handle 10: htb default 1")
	r := ask(16e6)
	r.Ask.Replace = true
	err := p.a.Do(func() error { _, err := h.Set(r, "test", time.Now(), nil); return err })
	if !errors.Is(err, shape.ErrStuck) || get(t, p.a, change.Egress) != now {
		t.Errorf("%v, %s", err, get(t, p.a, change.Egress))
	}
}

// A refused clear leaves the limit to the process that waits to revert it.
func TestRefusedClearStillWaits(t *testing.T) {
	p, h := newPair(t), newTestHost(t)
	id, err := guardedSet(t, p, h, h.disk)
	if err != nil {
		t.Fatal(err)
	}
	mustShell(t, p.a, "tc qdisc replace dev a parent c0c7:1 "+guests[0])
	if r := h.clearIn(t, p, false); len(r.Refused) != 1 {
		t.Errorf("cleared: %+v", r)
	}
	if waits, err := waitsIn(p, h); waits == nil || err != nil {
		t.Errorf("nobody waits: %v", err)
	}
	if err := p.a.Do(func() error { return h.RevertUnless("a", id, 0) }); !errors.Is(err, errForeign) {
		t.Errorf("reverted: %v", err)
	}
	if waits, err := waitsIn(p, h); waits != nil || err != nil {
		t.Errorf("still waits: %+v, %v", waits, err)
	}
}
