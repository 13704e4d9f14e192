package advise

import (
	"fmt"
	"strconv"
	"strings"
)

// Kernels that matter here.
var (
	kernelBBR     = version{4, 9}  // has BBR
	kernelPacing  = version{4, 13} // TCP paces by itself: fq is no longer needed
	kernelNetns   = version{4, 15} // a congestion control for each network namespace
	kernelAliased = version{6, 8}  // asks modprobe for qdiscs by alias, which a blacklist stops
)

// version is MAJOR.MINOR.
type version [2]int

func (v version) String() string { return fmt.Sprintf("%d.%d", v[0], v[1]) }

func (v version) before(o version) bool { return v[0] < o[0] || v[0] == o[0] && v[1] < o[1] }

// parseRelease reads the two first numbers of a release like "4.4.0-210-generic".
func parseRelease(release string) (v version, ok bool) {
	major, rest, _ := strings.Cut(release, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	var err error
	if v[0], err = strconv.Atoi(major); err != nil {
		return v, false
	}
	v[1], err = strconv.Atoi(rest[:end])
	return v, err == nil
}

// older reports whether the kernel is known to be older.
func (f *Facts) older(than version) bool {
	v, ok := parseRelease(f.Kernel.Release)
	return ok && v.before(than)
}

// newerKernel is the distribution's own way to a kernel with BBR: always before a
// rebuild, which nobody else keeps up to date.
func (f *Facts) newerKernel() (fix, undo string) {
	if f.System.Container != "" {
		return "ask who runs the machine: a container has its host's kernel", ""
	}
	d := f.System.Distro
	back := "boot the old kernel from the boot loader's menu; it stays installed"
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
