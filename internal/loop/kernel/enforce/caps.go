package enforce

import (
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/privilege"
)

// needed are the capabilities for our programs: to load, to read kernel structures, and to
// attach to a cgroup. CAP_SYS_ADMIN stands in for the first two, and before Linux 5.8 for
// all that they have been since.
var needed = []struct{ bit, instead int }{
	{unix.CAP_BPF, unix.CAP_SYS_ADMIN},
	{unix.CAP_PERFMON, unix.CAP_SYS_ADMIN},
	{unix.CAP_NET_ADMIN, unix.CAP_NET_ADMIN},
}

// lacking are those of needed that are not in a set.
func lacking(effective privilege.Set) (out privilege.Set) {
	for _, n := range needed {
		if effective&privilege.Of(n.bit, n.instead) == 0 {
			out |= privilege.Of(n.bit)
		}
	}
	return out
}
