package inspect

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/congctl/congctl/internal/host/advise"
)

// TestMasks: a file that leads to nothing hides the file of that name in weaker directories, and sets nothing.
func TestMasks(t *testing.T) {
	for name, lay := range map[string]func(at string) error{
		"mask":          func(at string) error { return os.Symlink("/dev/null", at) },
		"relative mask": func(at string) error { return os.Symlink("../../../../../../../../../../dev/null", at) },
		"of a mask":     func(at string) error { return os.Symlink("/dev/null", filepath.Dir(at)+"/a") },
		"nowhere":       func(at string) error { return os.Symlink("../nosuch", at) },
		"directory":     func(at string) error { return os.Mkdir(at, 0o755) },
		"empty":         func(at string) error { return os.WriteFile(at, nil, 0o644) },
	} {
		root := t.TempDir()
		for _, dir := range []string{"/etc/sysctl.d", "/usr/lib/sysctl.d", "/run/systemd/system", "/usr/lib/systemd"} {
			if err := os.MkdirAll(root+dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		at := root + "/etc/sysctl.d/50-x.conf"
		err := lay(at)
		if name == "of a mask" && err == nil {
			err = os.Symlink("a", at)
		}
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"/usr/lib/sysctl.d/50-x.conf": advise.KeyCong + "=htcp\n", "/usr/lib/sysctl.d/40-y.conf": advise.KeyCong + "=reno\n",
			"/usr/lib/systemd/systemd-sysctl": ""} {
			if err := os.WriteFile(root+file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		f := Host{Tree(root), nothing{}, nothing{}}.Read()
		if b := f.AfterBoot(advise.KeyCong); b.Why != "" || b.Value.Value != "reno" {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// nothing is a network namespace without anything in it.
type nothing struct{}

func (nothing) Links() ([]advise.Link, error)      { return nil, nil }
func (nothing) Sockets() (advise.Sockets, error)   { return advise.Sockets{}, nil }
func (nothing) Spaces() ([]advise.Space, error)    { return nil, nil }
func (nothing) Tier() (string, []string, error)    { return "full", nil, nil }
func (nothing) SockOps() ([]advise.Program, error) { return nil, nil }
