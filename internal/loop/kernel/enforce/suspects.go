package enforce

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf/features"

	"github.com/congctl/congctl/internal/kernel/cgroup"
)

// Suspects names what on this host can keep callbacks from us, for the text of
// an alarm: best guess first, empty if nothing stands out.
func (e *Enforcer) Suspects() []string {
	var out []string
	if others, err := e.Others(); err == nil {
		for _, o := range others {
			out = append(out, fmt.Sprintf("sock_ops program %q (id %d) may replace our callback flags", o.Name, o.ID))
		}
	}
	if s, err := e.Stats(); err == nil {
		if s.NoStorage > 0 {
			out = append(out, fmt.Sprintf("%d connections had no memory for a mark", s.NoStorage))
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
	f, err := os.Open("/proc/mounts")
	if err != nil {
		return ""
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		w := strings.Fields(sc.Text())
		if len(w) < 4 || w[2] != "cgroup" {
			continue
		}
		for _, c := range strings.Split(w[3], ",") {
			if c == "net_cls" || c == "net_prio" {
				return c
			}
		}
	}
	return ""
}
