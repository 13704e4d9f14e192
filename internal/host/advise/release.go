package advise

import (
	"strings"

	"github.com/congctl/congctl/internal/host/kconfig"
)

// Kernels that matter here.
var (
	kernelBBR       = kconfig.Version{4, 9}  // has BBR
	kernelPacing    = kconfig.Version{4, 13} // TCP paces by itself: fq is no longer needed
	kernelNetns     = kconfig.Version{4, 15} // a congestion control for each network namespace
	kernelThreshold = kconfig.Version{5, 6}  // does not remember slow start's threshold, unless told to
	kernelCmdline   = kconfig.Version{5, 8}  // takes settings from its command line
	kernelAliased   = kconfig.Version{6, 8}  // asks modprobe for qdiscs by alias, which a blacklist stops
)

// older reports whether the kernel is known to be older.
func (f *Facts) older(than kconfig.Version) bool {
	v := kconfig.ParseVersion(f.Kernel.Release)
	return v != (kconfig.Version{}) && v.Before(than)
}

// NeedsFq reports whether nothing but fq paces: the kernel is known to be older than 4.13.
func (f *Facts) NeedsFq() bool { return f.older(kernelPacing) }

// newerKernel returns the distribution's own way to a kernel with BBR: always better than a
// rebuild, which the user alone must keep up to date.
func (f *Facts) newerKernel() (fix, undo string) {
	if f.System.Container != "" {
		return "ask the administrator of the host: a container uses the host's kernel", ""
	}
	d := f.System.Distro
	back := "boot the old kernel from the boot menu; it stays installed"
	switch {
	case d.ID == "ubuntu":
		return "sudo apt install linux-generic-hwe-" + d.Version + " && sudo reboot", back
	case d.ID == "debian":
		arch := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[f.Kernel.Arch]
		return "sudo apt update && sudo apt full-upgrade && sudo apt install linux-image-" + arch + " && sudo reboot", back
	case d.ID == "amzn" && d.Version == "2":
		return "sudo amazon-linux-extras install kernel-5.10 && sudo reboot", back
	case d.ID == "amzn" && d.Version > "2018": // 2023 and later
		return "sudo dnf upgrade --releasever=latest kernel && sudo reboot", back
	case d.ID == "amzn":
		return "sudo yum update kernel && sudo reboot", back
	case d.ID == "alpine":
		return "sudo apk upgrade linux-lts && sudo reboot", "sudo apk add linux-lts=OLD-VERSION && sudo reboot"
	case d.ID == "poky" || strings.Contains(d.Like, "poky"):
		return "set PREFERRED_VERSION_linux-yocto to 4.13 or later in the machine's or distribution's configuration and build the image again", "the image before it"
	case d.ID == "fedora" || strings.Contains(d.Like, "fedora") || strings.Contains(d.Like, "rhel") || d.ID == "rhel":
		return "sudo dnf upgrade kernel && sudo reboot (release 8 and later have BBR; 7 has not)", back
	case strings.Contains(d.ID+d.Like, "suse"):
		return "sudo zypper update kernel-default && sudo reboot", back
	case d.ID == "arch" || d.Like == "arch":
		return "sudo pacman -Syu linux && sudo reboot", back
	}
	return "install the distribution's newest kernel and boot it", back
}
