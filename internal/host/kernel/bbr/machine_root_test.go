package bbr

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/kernel/inspect"
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

// onMachine has this machine's facts but for its files, and init: a guest has none.
func onMachine(root string) *Host {
	e := carry.New(carry.Options{Disk: carry.HostDisk{Root: root}, Boot: "b", Places: map[change.Kind]carry.Place{
		change.Sysctl: carry.Sysctls{Root: "/"}, change.Module: carry.Modules{Root: "/"}, change.Qdisc: carry.Qdiscs{}}})
	facts := func() advise.Facts {
		f := inspect.Local().Read()
		f.System.Init, f.System.Applier, f.System.Container = "systemd", "systemd-sysctl", ""
		return f
	}
	return &Host{Facts: facts, Engine: e, Connect: loopback.Connect, Lock: root + carry.DefaultDir, Machine: "m", Boot: "b"}
}
