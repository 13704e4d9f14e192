package carry

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
)

// TestForgottenJournal: a change of files whose journal a reboot would empty is refused
// before anything is made; one that goes with the journal is not.
func TestForgottenJournal(t *testing.T) {
	file := change.Step{Kind: change.File, Target: dropIn, New: change.FileText("x")}
	live := change.Step{Kind: change.Sysctl, Target: "cc", Old: change.Text("cubic"), New: change.Text("bbr")}
	for _, c := range []struct {
		name    string
		memory  []string // what a reboot empties
		steps   []change.Step
		refused bool
	}{
		{"on a disk", nil, []change.Step{live, file}, false},
		{"journal in memory", []string{"/var"}, []change.Step{live, file}, true},
		{"only live values", []string{"/var"}, []change.Step{live}, false},
		{"all in memory", []string{"/var", "/etc"}, []change.Step{live, file}, false},
		{"files in memory", []string{"/etc"}, []change.Step{live, file}, false},
	} {
		h := newFakeHost()
		before := h.disk.text()
		e := New(Options{Disk: h.disk, Boot: "b", Places: map[change.Kind]Place{change.Sysctl: h.live}, Forgets: func(p string) bool {
			for _, m := range c.memory {
				if strings.HasPrefix(p, m) {
					return true
				}
			}
			return false
		}})
		p := change.Plan{Header: change.Header{ID: "1", Subject: "host", Boot: "b"}, Steps: c.steps}
		_, err := e.Apply(p, nil)
		if got := errors.As(err, new(ForgottenError)); got != c.refused || err != nil && !c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
		if names, _ := h.disk.List(DefaultDir); c.refused && (h.disk.text() != before || len(names) > 0 || h.live["cc"] != "cubic") {
			t.Errorf("%s: something was written: %v", c.name, names)
		}
	}
}

// TestForgets asks real file systems.
func TestForgets(t *testing.T) {
	if (HostDisk{Root: "/"}).Forgets("/proc/self") {
		t.Error("/proc is no tmpfs")
	}
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		t.Skip("needs a tmpfs on /dev/shm, as every distribution has it; minimum kernel 2.4")
	}
	if !(HostDisk{Root: "/"}).Forgets("/dev/shm/not/made/yet") {
		t.Error("/dev/shm is a tmpfs")
	}
	root := laidOut(t, "/var -> /dev/shm")
	if err := os.MkdirAll(root+"/dev/shm", 0o755); err != nil {
		t.Fatal(err)
	}
	if got, want := (HostDisk{Root: root}).Forgets("/var/lib"), (HostDisk{Root: root}).Forgets("/"); got != want {
		t.Errorf("a link led out of the root: %t, want %t", got, want)
	}
}
