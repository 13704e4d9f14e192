package carry

import (
	"os"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/change"
)

// laidOut makes directories, files ("NAME=TEXT") and links ("NAME -> TARGET") below a root.
func laidOut(t *testing.T, entries ...string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		link, to, isLink := strings.Cut(e, " -> ")
		name, text, isFile := strings.Cut(e, "=")
		var err error
		switch {
		case isLink:
			err = os.Symlink(to, root+link)
		case isFile:
			err = os.WriteFile(root+name, []byte(text), 0o644)
		default:
			err = os.MkdirAll(root+e, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestLinkedDirectories carries a change out on a host as images have it: /var and a
// directory of settings are links. All is written inside the root, and goes again.
func TestLinkedDirectories(t *testing.T) {
	for _, entries := range [][]string{
		{"/etc/sysctl.d", "/state/var/lib", "/var -> state/var"},
		{"/etc", "/usr/etc/sysctl.d", "/etc/sysctl.d -> /usr/etc/sysctl.d", "/var", "/srv/lib", "/var/lib -> ../srv/lib"},
		{"/etc", "/a/b/sysctl.d", "/etc/sysctl.d -> ../../../../a/link/sysctl.d", "/a/link -> /a/b", "/var"},
		{"/etc/sysctl.d", "/var/lib", "/mnt/keep", "/var/lib/congctl -> /mnt/keep"},
	} {
		root := laidOut(t, entries...)
		e := New(Options{Disk: HostDisk{Root: root}, Boot: "b"})
		ours := change.FileText("x\n")
		ours.UID, ours.GID = uint32(os.Geteuid()), uint32(os.Getegid()) // nobody else's can be made without root
		steps, err := change.Complete([]change.Step{{Kind: change.File, Target: dropIn, New: ours}}, e.Read)
		if err != nil || len(steps) != 1 {
			t.Errorf("%v: plan %v, %v", entries, steps, err)
			continue
		}
		p := change.Plan{Header: change.Header{ID: "1", Subject: "host", Boot: "b"}, Steps: steps}
		j, err := e.Apply(p, nil)
		if err != nil {
			t.Errorf("%v: %v", entries, err)
			continue
		}
		if v, err := e.Read(change.File, dropIn); err != nil || v.Text != "x\n" {
			t.Errorf("%v: read %v, %v", entries, v, err)
		}
		if open, err := e.Open("host"); err != nil || len(open) != 1 {
			t.Errorf("%v: journals %v, %v", entries, open, err)
		}
		if _, err := e.Undo(j, false, "asked"); err != nil {
			t.Errorf("%v: undo: %v", entries, err)
		}
		if v, err := e.Read(change.File, dropIn); err != nil || v.Present {
			t.Errorf("%v: after undo %v, %v", entries, v, err)
		}
	}
}

// TestLinksRefused: what somebody else could turn around is not followed, and the error
// names the link, what is wrong and the way out.
func TestLinksRefused(t *testing.T) {
	for want, entries := range map[string][]string{
		"follow /var -> state: /state has mode 777: others could redirect it: chmod go-w /state": {"/state", "/var -> state"},
		"follow /state/var -> /x: /state has mode 777":                                           {"/state", "/x", "/state/var -> /x", "/var -> state/var"},
		"follow /var -> gone: there is no /gone: create it, or repair the link":                  {"/var -> gone"},
		"too many links": {"/var -> run", "/run -> var"},
	} {
		root := laidOut(t, entries...)
		if err := os.Chmod(root+"/state", 0o777); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		_, err := HostDisk{Root: root}.Read("/var/lib")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", entries, err, want)
		}
		if err := (HostDisk{Root: root}).Do(Op{Kind: OpMakeDir, Path: "/var/lib", Mode: 0o755}); err == nil {
			t.Errorf("%v: a directory was made", entries)
		}
	}
}

// TestLinkedFile: a file that is a link is somebody's arrangement and no target.
func TestLinkedFile(t *testing.T) {
	root := laidOut(t, "/etc", "/etc/real=x", "/etc/sysctl.conf -> real")
	_, err := HostDisk{Root: root}.Read("/etc/sysctl.conf")
	if err == nil || !strings.Contains(err.Error(), "read /etc/sysctl.conf: it is a link to real: congctl replaces only plain files") {
		t.Error(err)
	}
}
