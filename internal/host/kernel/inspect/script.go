package inspect

import (
	"path"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/host/advise"
)

// generators make the unit that runs rc.local, if that may be run; later systemd has none.
var generators = []string{"/usr/lib/systemd/system-generators/systemd-rc-local-generator", "/lib/systemd/system-generators/systemd-rc-local-generator"}

// Boot says which kind of init runs this host, what that runs of the administrator's at
// the end of a boot, and whether by a shell, whatever its mode.
func (h Host) Boot() (init, script string, anyMode bool) {
	switch init = h.init(); init {
	case "systemd":
		const unit = "/etc/systemd/system/rc-local.service"
		by := append([]string{"/etc/systemd/system/multi-user.target.wants/rc-local.service"}, generators...)
		for _, file := range by {
			if h.has(file) && h.link(unit) != "/dev/null" {
				return init, advise.RCLocal, false
			}
		}
	case "openrc":
		if h.reached("local") {
			return init, advise.LocalStart, false
		}
		if h.reached("rc.local") { // Debian's has no local
			return init, advise.RCLocal, false
		}
	case "busybox":
		text := h.text("/etc/inittab") + h.text("/etc/init.d/rcS")
		if strings.Contains(text, advise.RCLocal) {
			return init, advise.RCLocal, strings.Contains(text, "sh "+advise.RCLocal) || strings.Contains(text, ". "+advise.RCLocal)
		}
	case "sysvinit":
		script, anyMode = h.sysvScript()
	}
	return init, script, anyMode
}

// reached reports whether OpenRC starts a service in a boot. It has more runlevels: local
// is in nonetwork everywhere.
func (h Host) reached(service string) bool {
	return slices.ContainsFunc([]string{"sysinit", "boot", "default"}, func(level string) bool {
		return h.has(path.Join("/etc/runlevels", level, service))
	})
}

// sysvScript: Debian's link runs rc.local if that may be run, Red Hat's is rc.local itself.
func (h Host) sysvScript() (where string, anyMode bool) {
	for _, dir := range []string{"/etc/rc2.d", "/etc/rc3.d", "/etc/rc4.d", "/etc/rc5.d"} {
		names, _ := h.Files.List(dir)
		for _, n := range names {
			if strings.HasPrefix(n, "S") && strings.HasSuffix(n, "local") {
				return advise.RCLocal, !strings.HasSuffix(n, "rc.local")
			}
		}
	}
	return "", false
}
