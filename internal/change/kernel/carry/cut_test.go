package carry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
)

// memory is a place of volatile values; like a running kernel it forgets at a reboot.
type memory map[string]string

func (m memory) Read(target string) (change.Value, error) {
	v, ok := m[target]
	if !ok {
		return change.Absent, nil
	}
	return change.Text(v), nil
}

func (m memory) Write(target string, v change.Value) error {
	if delete(m, target); v.Present {
		m[target] = v.Text
	}
	return nil
}

// fakeHost has a disk, a kernel, and a boot that reads the disk.
type fakeHost struct {
	disk  *memDisk
	live  memory
	boots int
}

const (
	dropIn  = "/etc/sysctl.d/zz.conf"
	loadDir = "/etc/modules-load.d"
	rcLocal = "/etc/rc.local"
)

func newFakeHost() *fakeHost {
	h := &fakeHost{disk: newMemDisk("/etc", "/etc/sysctl.d", "/var"), live: memory{}}
	h.disk.put(rcLocal, change.Value{Present: true, Text: "exit 0\n", Mode: 0o755, UID: 7})
	h.boot()
	return h
}

func (h *fakeHost) boot() {
	h.boots++
	clear(h.live)
	h.live["cc"], h.live["qdisc"] = "cubic", "pfifo"
	if n := h.disk.live[dropIn]; n != nil {
		which, _, _ := strings.Cut(n.now.Text, "cc=")
		h.live["cc"], h.live["qdisc"] = which+"bbr", which+"fq"
	}
	if h.disk.live[loadDir+"/bbr.conf"] != nil {
		h.live["tcp_bbr"] = "loaded"
	}
}

func (h *fakeHost) engine(d Disk) *Engine {
	return New(Options{Disk: d, Boot: fmt.Sprint("boot", h.boots),
		Places: map[change.Kind]Place{change.Sysctl: h.live, change.Module: h.live}})
}

// wanted is a plan like that of a real host: live values first, then files, a new
// directory among them and a file that was there before.
var wanted = []change.Step{
	{Kind: change.Module, Target: "tcp_bbr", New: change.Text("loaded")},
	{Kind: change.Sysctl, Target: "cc", New: change.Text("bbr")},
	{Kind: change.Sysctl, Target: "qdisc", New: change.Text("fq")},
	{Kind: change.File, Target: dropIn, New: change.FileText("cc=bbr\n")},
	{Kind: change.Dir, Target: loadDir, New: change.Value{Present: true, Mode: 0o755}},
	{Kind: change.File, Target: loadDir + "/bbr.conf", New: change.FileText("tcp_bbr\n")},
	{Kind: change.File, Target: rcLocal, New: change.Value{Present: true, Text: "modprobe tcp_bbr\nexit 0\n", Mode: 0o755, UID: 7}},
}

func (h *fakeHost) plan(e *Engine, want []change.Step) (change.Plan, error) {
	list, err := e.All()
	p := change.Plan{Header: change.Header{ID: fmt.Sprintf("%06d-host", len(list)), Subject: "host", Verb: "enable",
		At: time.Unix(1_795_000_000, 0).UTC(), Boot: e.boot, Machine: "m"}}
	for _, s := range want {
		now, e := e.Read(s.Kind, s.Target)
		err = errors.Join(err, e)
		if s.Old = now; now != s.New {
			p.Steps = append(p.Steps, s)
		}
	}
	return p, err
}

func (h *fakeHost) enable(d Disk) error {
	e := h.engine(d)
	_, err := e.Set("host", func() (change.Plan, error) { return h.plan(e, wanted) }, func() error { return nil })
	return err
}

func (h *fakeHost) disable(d Disk) error {
	r, err := h.engine(d).Clear("host", false, "asked")
	if err == nil && len(r.Refused) > 0 {
		err = fmt.Errorf("refused %s", r.Refused)
	}
	return err
}

func (h *fakeHost) text() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(h.live)) {
		fmt.Fprintf(&b, "%s=%s\n", k, h.live[k])
	}
	return b.String() + h.disk.text()
}

func powerCut() error { return ErrPowerCut }

// verbs are what an operator runs, before and after the power cut.
var verbs = map[string]func(*fakeHost, Disk) error{"enable": (*fakeHost).enable, "disable": (*fakeHost).disable}

// long leaves out what no kernel has a say in, where each instruction is emulated.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("thousands of power cuts in memory, the same on every kernel: run without -short; no minimum kernel")
	}
}

// TestCutAnywhere cuts the power, or kills the process, before each operation of
// enable and of disable, in every way in which a disk may lose what was not synced;
// then enable or disable must end where it ends without a cut.
func TestCutAnywhere(t *testing.T) {
	long(t)
	off := newFakeHost().text()
	on := newFakeHost()
	if err := on.enable(on.disk); err != nil {
		t.Fatal(err)
	}
	ends := map[string]string{"enable": on.text(), "disable": off}
	cases := 0
	for first := range verbs {
		for then := range verbs {
			for _, l := range append(slices.Clone(losses), "process killed") {
				n := 1
				for ; cutAt(t, n, first, then, l, ends[then]); n++ {
				}
				if cases += n; n < 10 {
					t.Errorf("%s has %d operations: the cuts were not found", first, n)
				}
			}
		}
	}
	t.Logf("%d cuts", cases)
}

// cutAt reports whether there was an n-th operation to cut.
func cutAt(t *testing.T, n int, first, then string, l loss, want string) bool {
	t.Helper()
	h := newFakeHost()
	if first == "disable" {
		if err := h.enable(h.disk); err != nil {
			t.Fatal(err)
		}
	}
	err := verbs[first](h, &Counted{Disk: h.disk, N: n, Cut: powerCut})
	if err == nil {
		return false
	}
	at := fmt.Sprintf("%s cut at %d, %s, then %s", first, n, l, then)
	if !errors.Is(err, ErrPowerCut) {
		t.Fatalf("%s: %v", at, err)
	}
	if l != "process killed" {
		h.disk.cut(l)
		h.boot()
	}
	if err := verbs[then](h, h.disk); err != nil && !errors.Is(err, ErrNothing) {
		t.Errorf("%s: %v", at, err)
	} else if got := h.text(); got != want {
		t.Errorf("%s: the host is\n%s\nwant\n%s", at, got, want)
	}
	return true
}

// TestTwoCuts cuts the work that mends a cut, too, at each pair of operations.
func TestTwoCuts(t *testing.T) {
	long(t)
	off, on := newFakeHost().text(), newFakeHost()
	if err := on.enable(on.disk); err != nil {
		t.Fatal(err)
	}
	ends := map[string]string{"enable": on.text(), "disable": off}
	for then := range verbs {
		for first := 1; ; first += 3 {
			h := newFakeHost()
			if h.enable(&Counted{Disk: h.disk, N: first, Cut: powerCut}) == nil {
				break
			}
			for second := 1; second < 40; second += 2 {
				_ = verbs[then](h, &Counted{Disk: h.disk, N: second, Cut: powerCut})
				h.disk.cut(losses[second%len(losses)])
				h.boot()
			}
			if err := verbs[then](h, h.disk); err != nil && !errors.Is(err, ErrNothing) {
				t.Errorf("first cut at %d, then %s: %v", first, then, err)
			} else if h.text() != ends[then] {
				t.Errorf("first cut at %d, then %s: the host is\n%s\nwant\n%s", first, then, h.text(), ends[then])
			}
		}
	}
}

// TestFullDisk returns ENOSPC once at each operation: all is taken back, or the error
// leaves a journal that disable ends.
func TestFullDisk(t *testing.T) {
	off := newFakeHost().text()
	for n := 1; ; n++ {
		h := newFakeHost()
		err := h.enable(&Counted{Disk: h.disk, N: n, Cut: func() error { return unix.ENOSPC }})
		if err == nil {
			break
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Errorf("full at %d: %v", n, err)
		}
		if err := h.disable(h.disk); err != nil && !errors.Is(err, ErrNothing) {
			t.Errorf("full at %d: disable: %v", n, err)
		}
		if got := h.text(); got != off {
			t.Errorf("full at %d: the host is\n%s\nwant\n%s", n, got, off)
		}
	}
}

func TestTwiceWritesNothing(t *testing.T) {
	h := newFakeHost()
	if err := h.enable(h.disk); err != nil {
		t.Fatal(err)
	}
	never := &Counted{Disk: h.disk, N: 1, Cut: func() error { return errors.New("an operation") }}
	if err := h.enable(never); err != nil {
		t.Errorf("enable twice: %v", err)
	}
}
