package inspect

import (
	"io/fs"
	"runtime"
	"strings"

	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/kconfig"
)

func (h Host) kernel(e *kconfig.Evidence) (k advise.Kernel) {
	k.Release = e.Release
	k.Arch = strings.TrimSpace(h.text("/proc/sys/kernel/arch")) // since 6.1
	if k.Arch == "" {
		k.Arch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	}
	k.Cmdline = strings.TrimSpace(h.text("/proc/cmdline"))
	k.BTF = h.has("/sys/kernel/btf/vmlinux")
	k.Config, k.From = options(e)
	return k
}

// options returns the options that are set, and the place. If existing places cannot be
// read, it keeps the first one's reason.
func options(e *kconfig.Evidence) (advise.Known[map[string]string], string) {
	why := ""
	for _, s := range e.Sources {
		switch {
		case e.Config == nil && why == "" && s.Note != "" && s.Note != fs.ErrNotExist.Error():
			why = s.Note + ": " + s.Path
		case e.Config != nil && s.Used:
			set := map[string]string{}
			for _, name := range e.Config.Symbols() {
				if v := e.Config.Get(name); v != kconfig.No {
					set[name] = strings.Trim(string(v), `"`)
				}
			}
			return advise.Know(set), s.Path
		}
	}
	if why == "" {
		why = "neither /proc/config.gz (CONFIG_IKCONFIG_PROC) nor /boot/config-" + e.Release
	}
	return advise.Unknown[map[string]string](why), ""
}
