package host

import (
	"strings"

	"github.com/congctl/congctl/internal/core/advise"
)

// SysctlPath is the file of a setting. A slash in a name stands for a dot that is
// part of it (net.ipv4.conf.eth0/100.rp_filter), as in sysctl.d.
func SysctlPath(key string) string {
	return "/proc/sys/" + strings.NewReplacer(".", "/", "/", ".").Replace(key)
}

// Sysctl reads a live setting, of the network namespace that this program is in.
func (h Host) Sysctl(key string) advise.Known[string] {
	s, err := h.Files.Read(SysctlPath(key))
	return known(strings.Join(strings.Fields(s), " "), err)
}

func (h Host) cong() advise.Cong {
	list := func(key string) advise.Known[[]string] {
		v := h.Sysctl(key)
		return advise.Known[[]string]{Value: strings.Fields(v.Value), Why: v.Why}
	}
	return advise.Cong{
		Available: list(advise.KeyAvailable),
		Allowed:   list(advise.KeyAllowed),
		Current:   h.Sysctl(advise.KeyCong),
	}
}
