package enforce

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf/features"

	"github.com/congctl/congctl/internal/linux/cgroup"
)

// Suspects names what on this host may keep callbacks from us, for the text of an alarm:
// best guess first, empty if nothing stands out.
func (e *Enforcer) Suspects() []string {
	var out []string
	if others, err := e.others(); err == nil {
		for _, o := range others {
			out = append(out, fmt.Sprintf("sock_ops program %s may replace our callback flags", o))
		}
	}
	if s, err := e.Stats(); err == nil {
		if s.NoStorage > 0 {
			out = append(out, fmt.Sprintf("no memory to follow %d connections", s.NoStorage))
		}
		if s.NoFlags > 0 {
			out = append(out, fmt.Sprintf("%d connections refused callbacks", s.NoFlags))
		}
	}
	if root, err := cgroup.Root(); err == nil && e.opt.Cgroup != root {
		out = append(out, fmt.Sprintf("the program is attached to %s, not to the root %s: servers elsewhere are not seen", e.opt.Cgroup, root))
	}
	if c := classifier(); c != "" {
		out = append(out, fmt.Sprintf("cgroup v1 controller %s is mounted: before Linux 5.15 a socket that it marks leaves its cgroup2", c))
	}
	return out
}

// classifier names a mounted cgroup v1 network controller on a kernel where it
// shares a field of the socket with cgroup2 (sock_cgroup_data, split in 5.15).
func classifier() string {
	if code, err := features.LinuxVersionCode(); err != nil || code >= linuxVersion(5, 15, 0) {
		return ""
	}
	mounts, _ := os.ReadFile("/proc/mounts")
	for line := range strings.Lines(string(mounts)) {
		w := strings.Fields(line)
		for _, c := range []string{"net_cls", "net_prio"} {
			if len(w) > 3 && w[2] == "cgroup" && slices.Contains(strings.Split(w[3], ","), c) {
				return c
			}
		}
	}
	return ""
}
