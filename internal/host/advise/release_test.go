package advise

import "testing"

// TestNewerKernel: every distribution has its own command, and no rebuild comes first.
func TestNewerKernel(t *testing.T) {
	seen := map[string]string{}
	for _, d := range []Distro{{ID: "ubuntu", Version: "16.04"}, {ID: "debian"}, {ID: "amzn", Version: "2017.03"}, {ID: "amzn", Version: "2"},
		{ID: "amzn", Version: "2023"}, {ID: "alpine"}, {ID: "poky"}, {ID: "rocky", Like: "rhel centos fedora"}, {ID: "opensuse-leap", Like: "suse opensuse"}, {ID: "arch"}, {}} {
		f := &Facts{System: System{Distro: d}, Kernel: Kernel{Arch: "x86_64"}}
		fix, undo := f.newerKernel()
		if fix == "" || undo == "" || seen[fix] != "" {
			t.Errorf("%+v: %q, undo %q, the same as %s", d, fix, undo, seen[fix])
		}
		seen[fix] = d.ID + d.Version
	}
}
