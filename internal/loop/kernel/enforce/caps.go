package enforce

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// needed are the capabilities for our programs: to load, to read kernel structures, and to
// attach to a cgroup. CAP_SYS_ADMIN stands in for the first two, and before Linux 5.8 for
// all that they have been since.
var needed = []struct {
	bit     uint
	name    string
	instead uint64
}{
	{unix.CAP_BPF, "CAP_BPF", 1 << unix.CAP_SYS_ADMIN},
	{unix.CAP_PERFMON, "CAP_PERFMON", 1 << unix.CAP_SYS_ADMIN},
	{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN", 0},
}

// lacking names those of needed that are not in a set.
func lacking(effective uint64) (names []string) {
	for _, n := range needed {
		if effective&(1<<n.bit|n.instead) == 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// capabilities returns the effective set of the calling thread.
func capabilities() (uint64, error) {
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0, fmt.Errorf("read capabilities: %w", err)
	}
	return uint64(data[1].Effective)<<32 | uint64(data[0].Effective), nil
}
