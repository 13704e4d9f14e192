package main

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/features"

	"github.com/congctl/congctl/internal/linux/cubiclt"
	"github.com/congctl/congctl/internal/loop/config"
)

// TestUpTreatsWithCubicLT: `up` registers its own congestion control, by name or because this kernel can have it, moves a listed
// network to it before the first byte, and takes it along when it ends.
func TestUpTreatsWithCubicLT(t *testing.T) {
	needRoot(t)
	needStructOps(t)
	for _, name := range []string{cubiclt.Name, config.CongAuto} {
		cfg := quickSettings()
		treated, other := client(1, 7), client(2, 7)
		cfg.Cong, cfg.Lists = name, lists(t, []netip.Addr{treated}, "off")
		e := newEdge(t, cfg)
		e.start()
		s := newServer(t)
		e.awaitStatus("the listed network in force", inForce(1))
		s.visit(t, treated, cubiclt.Name)
		s.visit(t, other, "cubic")
		e.stop()
		if left, err := cubiclt.Available(); err != nil || left {
			t.Errorf("after its end: %v, %v", left, err)
		}
		if told := strings.Contains(e.log.String(), "treatment.cong auto is cubic_lt"); told != (name == config.CongAuto) {
			t.Errorf("%s: in the log: %v", name, told)
		}
	}
}

// TestAutoIsOfAHost: a controller, whose kernel is not that of its agents, takes no treatment by its own.
func TestAutoIsOfAHost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "congctl.yml")
	check(t, os.WriteFile(file, []byte("treatment: {cong: auto}\nfleet: {pops: [chi]}\n"), 0o600))
	var out bytes.Buffer
	if code := run([]string{"controller", "-c", file}, &out, &out); code != exitUsage || !strings.Contains(out.String(), "treatment.cong: auto: a controller does not see its agents' kernels") {
		t.Errorf("exit %d: %s", code, &out)
	}
}

// TestAutoIsWhatLoads: where the kernel refuses the program auto is BBR, and says why; a second reading says the same.
func TestAutoIsWhatLoads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "congctl.yml")
	check(t, os.WriteFile(file, []byte("treatment: {cong: auto}\n"), 0o600))
	for _, takes := range []bool{true, false} {
		g := &global{configPath: file, hasCubicLT: func() (bool, string) { return takes, "seccomp" }}
		cfg, _, err := g.checked()
		check(t, err)
		if got := cfg.Treatment; takes && got.Cong != cubiclt.Name || !takes && (got.Cong != "bbr" || got.AutoWhy != "seccomp") {
			t.Errorf("taken %v: %+v", takes, got)
		}
	}
	g := &global{configPath: file}
	g.willTreat()
	first, _, err := g.checked()
	check(t, err)
	again, _, err := g.checked()
	check(t, err)
	if have, why := cubiclt.Loads(); (first.Treatment.Cong == cubiclt.Name) != have || first.Treatment.Cong != again.Treatment.Cong {
		t.Errorf("the kernel says %v %q; first %+v, then %+v", have, why, first.Treatment, again.Treatment)
	}
}

// TestUpKeepsCubicLT: an `up` that found cubic_lt registered registers it once whoever did has ended, when it has given up its
// privileges long ago.
func TestUpKeepsCubicLT(t *testing.T) {
	needRoot(t)
	needStructOps(t)
	release, err := cubiclt.Provide()
	check(t, err)
	cfg := quickSettings()
	cfg.Cong, cfg.Lists = cubiclt.Name, lists(t, []netip.Addr{client(1, 7)}, "off")
	e := newEdge(t, cfg)
	e.start()
	s := newServer(t)
	e.awaitStatus("the listed network in force", inForce(1))
	s.visit(t, client(1, 7), cubiclt.Name)
	check(t, release())
	for end := time.Now().Add(wholeTime); ; time.Sleep(100 * time.Millisecond) {
		have, err := cubiclt.Available()
		check(t, err)
		if have {
			break
		}
		if time.Now().After(end) {
			t.Fatal("not registered again")
		}
	}
	s.visit(t, client(1, 7), cubiclt.Name)
	e.stop()
}

func needStructOps(t *testing.T) {
	t.Helper()
	if code, err := features.LinuxVersionCode(); err != nil || code < 6<<16|4<<8 {
		t.Skipf("needs a struct_ops link; minimum kernel 6.4 (%v)", err)
	}
}
