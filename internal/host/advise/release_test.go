package advise

import "testing"

func TestParseRelease(t *testing.T) {
	for release, want := range map[string]version{"4.4.0-210-generic": {4, 4}, "6.18.44-fc": {6, 18}, "6.8": {6, 8}, "5.14.0-427.el9.x86_64": {5, 14}, "7.0-rc1": {7, 0}} {
		if v, ok := parseRelease(release); !ok || v != want {
			t.Errorf("%s: %v %v, want %v", release, v, ok, want)
		}
	}
	for _, release := range []string{"", "x", "6", "6.", "6.x"} {
		if v, ok := parseRelease(release); ok {
			t.Errorf("%q is %v", release, v)
		}
	}
}

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
