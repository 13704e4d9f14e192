package host

import (
	"compress/gzip"
	"io"
	"path"
	"runtime"
	"strings"

	"github.com/congctl/congctl/internal/core/advise"
)

func (h Host) kernel() (k advise.Kernel) {
	k.Release = strings.TrimSpace(h.text("/proc/sys/kernel/osrelease"))
	k.Arch = strings.TrimSpace(h.text("/proc/sys/kernel/arch")) // since 6.1
	if k.Arch == "" {
		k.Arch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	}
	k.BTF = h.has("/sys/kernel/btf/vmlinux")
	k.Config, k.From = h.config(k.Release)
	return k
}

// config reads the kernel's configuration from the first place that has it. Of
// those that may not be read, the reason of the first is kept.
func (h Host) config(release string) (advise.Known[map[string]string], string) {
	why := ""
	for _, place := range []string{"/proc/config.gz", "/boot/config-" + release, "/lib/modules/" + release + "/config",
		"/lib/modules/" + release + "/build/.config"} {
		text, err := h.Files.Read(place)
		if err == nil && path.Ext(place) == ".gz" {
			text, err = gunzip(text)
		}
		if err == nil {
			return advise.Know(configOptions(text)), place
		}
		if w := Why(err); why == "" || why == "not there" {
			why = w
			if w != "not there" {
				why += ": " + place
			}
		}
	}
	if why == "not there" {
		why = "neither /proc/config.gz (CONFIG_IKCONFIG_PROC) nor /boot/config-" + release
	}
	return advise.Unknown[map[string]string](why), ""
}

func gunzip(s string) (string, error) {
	if !strings.HasPrefix(s, "\x1f\x8b") {
		return s, nil // a fake host has it as text
	}
	z, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(z, maxText))
	return string(b), err
}

func configOptions(text string) map[string]string {
	set := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			if name, ok := strings.CutPrefix(name, "CONFIG_"); ok {
				set[name] = strings.Trim(value, `"`)
			}
		}
	}
	return set
}
