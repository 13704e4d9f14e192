package cgroup

import (
	"errors"
	"testing"
)

func TestMountOf(t *testing.T) {
	for mounts, want := range map[string]string{
		"": "",
		"tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n":   "",
		"cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n":                                            "/sys/fs/cgroup",
		"tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n": "/sys/fs/cgroup/unified",
		"none /a\\040b\\134c cgroup2 rw 0 0\n":                                               `/a b\c`,
		"cgroup2 /short\n":                                                                   "",
	} {
		if got := mountOf([]byte(mounts)); got != want {
			t.Errorf("%q: %q, want %q", mounts, got, want)
		}
	}
}

func TestRootOfThisHost(t *testing.T) {
	root, err := Root()
	if errors.Is(err, ErrNone) {
		t.Skip("this host mounts no cgroup2; minimum kernel 4.5")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(root); err != nil {
		t.Error(err)
	}
	if Check("/proc") == nil || Check("/nonexistent") == nil {
		t.Error("a path outside cgroup2 was accepted")
	}
}
