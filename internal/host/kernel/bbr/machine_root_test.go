package bbr

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/kernel/inspect"
	"github.com/congctl/congctl/internal/linux/cubiclt"
	"github.com/congctl/congctl/internal/linux/loopback"
)

// settingsOf the whole machine that enabling touches.
var settingsOf = []string{advise.KeyCong, advise.KeyAllowed, advise.KeyQdisc}

func liveSettings(t *testing.T) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, key := range settingsOf {
		v, err := carry.Sysctls{Root: "/"}.Read(key)
		if err != nil {
			t.Fatal(err)
		}
		got[key] = v.Text
	}
	return got
}

// TestWholeMachine enables and disables with the machine's own settings, modules and
// connections; only files are below another root.
func TestWholeMachine(t *testing.T) {
	if os.Getenv("CONGCTL_THROWAWAY") == "" {
		t.Skip("changes the settings of the whole machine: only in one that is thrown away (tools/vm.sh); minimum kernel 4.9")
	}
	root := t.TempDir()
	if err := os.MkdirAll(root+"/etc/sysctl.d", 0o755); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{advise.KeyCong: "cubic", advise.KeyAllowed: "reno cubic", advise.KeyQdisc: "pfifo_fast"} {
		if err := (carry.Sysctls{Root: "/"}).Write(key, change.Text(value)); err != nil {
			t.Fatal(err)
		}
	}
	before := liveSettings(t)
	h := onMachine(root)
	if r, err := h.Enable("host enable bbr", time.Unix(1_795_000_000, 0)); err != nil || len(r.Proofs) == 0 {
		t.Fatalf("enable: %+v, %v", r, err)
	}
	allowed := strings.Fields(liveSettings(t)[advise.KeyAllowed])
	if got := liveSettings(t); got[advise.KeyCong] != "bbr" || got[advise.KeyQdisc] != "fq" || len(allowed) != 3 || !slices.Contains(allowed, "bbr") {
		t.Errorf("enabled: %v", got)
	}
	if r, err := h.Disable(false); err != nil || len(r.Refused)+len(r.Failed) > 0 {
		t.Errorf("disable: %+v, %v", r, err)
	}
	if diff := cmp.Diff(before, liveSettings(t)); diff != "" {
		t.Errorf("disabled: %s", diff)
	}
	if left, _ := filepath.Glob(root + "/etc/*/*"); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// TestWholeMachineCubicLT makes cubic_lt the default of a machine, loses it as in a reboot, has it again as its unit does, and
// takes all of it back.
func TestWholeMachineCubicLT(t *testing.T) {
	if os.Getenv("CONGCTL_THROWAWAY") == "" {
		t.Skip("changes the settings of the whole machine: only in one that is thrown away (tools/vm.sh); minimum kernel 6.4")
	}
	if ok, why := cubiclt.Fits(); !ok {
		h := onMachine(t.TempDir())
		h.CubicLT("/usr/bin/congctl", "")
		if _, err := h.Enable("host enable cubic_lt", time.Unix(1_795_000_000, 0)); !errors.As(err, new(MissingError)) || !strings.Contains(err.Error(), why) {
			t.Errorf("where it cannot be: %v", err)
		}
		t.Skip("needs a kernel that takes cubic_lt; minimum kernel 6.4: " + why)
	}
	_ = unix.Mount("bpf", "/sys/fs/bpf", "bpf", 0, "") // unless it is
	root := t.TempDir()
	if err := errors.Join(os.MkdirAll(root+"/etc/systemd/system", 0o755), carry.Sysctls{Root: "/"}.Write(advise.KeyCong, change.Text("cubic"))); err != nil {
		t.Fatal(err)
	}
	before := liveSettings(t)
	h := onMachine(root)
	h.CubicLT("/usr/bin/congctl", "")
	r, err := h.Enable("host enable cubic_lt", time.Unix(1_795_000_000, 0))
	if err != nil || len(r.Proofs) == 0 || r.Proofs[0].Cong != cubiclt.Name {
		t.Fatalf("enable: %+v, %v", r, err)
	}
	if r, err := h.Enable("host enable cubic_lt", time.Unix(1_795_000_000, 0)); err != nil || len(r.Steps) > 0 {
		t.Errorf("again: %+v, %v", r, err)
	}
	for name, want := range map[string]string{"congctl-cubic_lt.service": "ExecStart=/usr/bin/congctl host enable cubic_lt --at-boot\n", "multi-user.target.d/congctl-cubic_lt.conf": "Wants=congctl-cubic_lt.service\n"} {
		if b, err := os.ReadFile(root + "/etc/systemd/system/" + name); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if err := errors.Join(carry.Sysctls{Root: "/"}.Write(advise.KeyCong, change.Text("cubic")), cubiclt.Unpin(cubiclt.PinPath)); err != nil {
		t.Fatal(err)
	}
	if have, err := cubiclt.Available(); have || err != nil {
		t.Errorf("unpinned: %t, %v", have, err)
	}
	if err := CubicLTUntilReboot(); err != nil {
		t.Fatal(err)
	}
	if proofs, err := loopback.Connect(); err != nil || proofs[0].Cong != cubiclt.Name {
		t.Errorf("as at a boot: %+v, %v", proofs, err)
	}
	if r, err := h.Disable(false); err != nil || len(r.Refused)+len(r.Failed)+len(r.Left) > 0 {
		t.Errorf("disable: %+v, %v", r, err)
	}
	if diff := cmp.Diff(before, liveSettings(t)); diff != "" {
		t.Errorf("disabled: %s", diff)
	}
	left, _ := filepath.Glob(root + "/etc/systemd/system/*")
	if have, err := cubiclt.Available(); have || err != nil || len(left) > 0 {
		t.Errorf("disabled: there is cubic_lt: %t, files %q, %v", have, left, err)
	}
}

// onMachine has this machine's facts but for its files, and init: a guest has none.
func onMachine(root string) *Host {
	e := carry.New(carry.Options{Disk: carry.HostDisk{Root: root}, Boot: "b", Places: map[change.Kind]carry.Place{
		change.Sysctl: carry.Sysctls{Root: "/"}, change.Module: carry.Modules{Root: "/"}, change.Qdisc: carry.Qdiscs{}, change.Program: pins{}}})
	facts := func() advise.Facts {
		f := inspect.Local().Read()
		f.System.Init, f.System.Applies, f.System.Container = "systemd", advise.Know(true), ""
		return f
	}
	return &Host{Facts: facts, Engine: e, Connect: loopback.Connect, Lock: root + carry.DefaultDir, Machine: "m", Boot: "b"}
}
