package advise

import (
	"path"
	"slices"
	"strings"
)

// Files are the texts that were found, by path.
type Files []File

// File is a configuration file as it was read.
type File struct {
	Path string
	Text string
	Link string // the target, for a symbolic link
	Why  string // why Text is unknown; "" when it is known
	Exec bool   // its owner may run it
}

// Get finds a file by its path.
func (fs Files) Get(name string) (File, bool) {
	i := slices.IndexFunc(fs, func(f File) bool { return f.Path == name })
	if i < 0 {
		return File{}, false
	}
	return fs[i], true
}

// hidden returns those directories that could not be listed.
func (fs Files) hidden(dirs []string) Files {
	return slices.DeleteFunc(slices.Clone(fs), func(f File) bool { return f.Why == "" || !slices.Contains(dirs, f.Path) })
}

// strays returns the files of directories of drop-ins that no program reads, for their names.
func (fs Files) strays(dirs []string) (strays Files) {
	for _, f := range fs {
		base := path.Base(f.Path)
		if slices.Contains(dirs, path.Dir(f.Path)) && (path.Ext(base) != ".conf" || base[0] == '.') {
			strays = append(strays, f)
		}
	}
	return strays
}

// DropIns returns the files of the same-named directories in the order that systemd, kmod
// and procps share: the first directory that has a base name masks the others, and the rest
// come by base name, whatever their directories.
func (fs Files) DropIns(dirs []string, suffix string) (order, masked Files) {
	taken := map[string]bool{}
	for _, dir := range dirs {
		for _, f := range fs {
			base := path.Base(f.Path)
			switch {
			case path.Dir(f.Path) != dir || !strings.HasSuffix(base, suffix) || base[0] == '.':
			case taken[base]:
				masked = append(masked, f)
			default:
				taken[base] = true
				order = append(order, f)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b File) int { return strings.Compare(path.Base(a.Path), path.Base(b.Path)) })
	return order, masked
}

// Directories of drop-ins, the strongest first.
var (
	SysctlDirs      = []string{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"}
	ModulesLoadDirs = []string{"/etc/modules-load.d", "/run/modules-load.d", "/usr/local/lib/modules-load.d", "/usr/lib/modules-load.d", "/lib/modules-load.d"}
	ModprobeDirs    = []string{"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d"}
	NetworkdDirs    = []string{"/etc/systemd/network", "/run/systemd/network", "/usr/local/lib/systemd/network", "/usr/lib/systemd/network", "/lib/systemd/network"}
)

// SysctlConf is the file that came before sysctl.d; Boot knows what reads it.
const SysctlConf = "/etc/sysctl.conf"

// Names of the settings that choose a congestion control and its pacing, or spoil them.
const (
	KeyCong      = "net.ipv4.tcp_congestion_control"
	KeyQdisc     = "net.core.default_qdisc"
	KeyAllowed   = "net.ipv4.tcp_allowed_congestion_control"
	KeyAvailable = "net.ipv4.tcp_available_congestion_control"
	KeyMetrics   = "net.ipv4.tcp_no_metrics_save"
	KeyThreshold = "net.ipv4.tcp_no_ssthresh_metrics_save"
	KeySendBytes = "net.ipv4.tcp_wmem"
)

// Keys are the live settings that are read.
var Keys = []string{KeyCong, KeyQdisc, KeyAllowed, KeyAvailable, KeyMetrics, KeyThreshold, KeySendBytes}
