package host

import (
	"io/fs"
	"runtime"
	"strings"

	"github.com/congctl/congctl/internal/core/advise"
	"github.com/congctl/congctl/internal/core/kconfig"
)

func (h Host) kernel(e *kconfig.Evidence) (k advise.Kernel) {
	k.Release = e.Release
	k.Arch = strings.TrimSpace(h.text("/proc/sys/kernel/arch")) // since 6.1
	if k.Arch == "" {
		k.Arch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	}
	k.BTF = h.has("/sys/kernel/btf/vmlinux")
	k.Config, k.From = configOf(e)
	return k
}

func (h Host) release() string { return strings.TrimSpace(h.text("/proc/sys/kernel/osrelease")) }

// configOf gives the options that are set, and the place. Of the places that are there
// and cannot be read, the reason of the first is kept.
func configOf(e *kconfig.Evidence) (advise.Known[map[string]string], string) {
	why := ""
	for _, s := range e.Sources {
		switch {
		case e.Config == nil && why == "" && s.Note != "" && s.Note != fs.ErrNotExist.Error():
			why = s.Note + ": " + s.Path
		case e.Config != nil && s.Used:
			return advise.Know(options(e.Config)), s.Path
		}
	}
	if why == "" {
		why = "neither /proc/config.gz (CONFIG_IKCONFIG_PROC) nor /boot/config-" + e.Release
	}
	return advise.Unknown[map[string]string](why), ""
}

func options(c *kconfig.Config) map[string]string {
	set := map[string]string{}
	for _, name := range c.Symbols() {
		if v := c.Get(name); v != kconfig.No {
			set[name] = strings.Trim(string(v), `"`)
		}
	}
	return set
}
