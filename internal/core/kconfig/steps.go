package kconfig

import "fmt"

// What to do with a fragment, by the way a kernel is built. Each command is one that a
// person types; none is run by congctl.

// buildID marks a kernel as one's own in `uname -r`: a rebuilt kernel of the old name would
// be taken for the old one.
const buildID = "congctl"

func genericSteps(*Document, []Feature) []Step {
	return []Step{
		merge("In the kernel's source, where .config is the configuration so far: merge this file."),
		resulting(".config"),
		{"Build it, and see it at work before any host boots it.", []string{
			`make -j"$(nproc)" bzImage modules`,
			"congctl lab verify-kernel arch/x86/boot/bzImage --modules ."}},
	}
}

// merge keeps what is built in: a fragment of modules would make a module of it.
func merge(what string) Step {
	return Step{what + "\n-y keeps built in what is; an old script does not know it: leave it out.", []string{
		"scripts/kconfig/merge_config.sh -y -m .config " + fragmentFile,
		"make olddefconfig"}}
}

func resulting(config string) Step {
	return Step{"Look at what came out: an unmet dependency drops a symbol without an error.", []string{
		"congctl host kernel check --config " + config + " --against " + fragmentFile}}
}

func running(uname string) Step {
	return Step{"After the boot.", []string{
		"uname -r      # " + uname,
		"congctl host kernel check --running",
		"sudo congctl host enable bbr"}}
}

func debianSteps(_ *Document, list []Feature) []Step {
	return []Step{
		{"The kernels of Debian since 9 and of Ubuntu since 18.04 have BBR as a module: look first.\nIf this says ok, nothing is to be built.", []string{
			"congctl host kernel check --running"}},
		{"An older kernel than 4.9: take your distribution's newer one before you build any.", []string{
			"apt-cache search '^linux-image-.*(amd64|generic|hwe)'"}},
		{"Room for the build: the source takes 1.5 GB; with debugging information count on 20.", []string{
			"df -h --output=avail ."}},
		{"Packages.", []string{
			"sudo apt-get install -y linux-source build-essential flex bison bc libelf-dev libssl-dev dwarves debhelper rsync cpio kmod"}},
		{"Source, this host's configuration, and a name of its own. Debian's keys are not in the source.", []string{
			"tar -xf /usr/src/linux-source-*.tar.xz && cd linux-source-*/",
			`cp "/boot/config-$(uname -r)" .config`,
			"scripts/config --set-str LOCALVERSION -" + buildID + " --set-str SYSTEM_TRUSTED_KEYS ''"}},
		merge("Merge this file."),
		resulting(".config"),
		{"Build packages, install, boot.", []string{
			`make -j"$(nproc)" bindeb-pkg`,
			fmt.Sprintf("sudo apt-get install -y ../linux-image-*-%s_*.deb && sudo reboot", buildID)}},
		running("ends in -" + buildID),
	}
}

func amazonSteps(*Document, []Feature) []Step {
	const spec, source = "~/rpmbuild/SPECS/kernel*.spec", `~/rpmbuild/SOURCES/config-"$(uname -m)"`
	return []Step{
		{"Amazon Linux 2023 has BBR as a module, and so have the 5.10 kernels of Amazon Linux 2: load\nit. If this shows bbr, nothing is to be built: go on with `sudo congctl host enable bbr`.", []string{
			"sudo modprobe tcp_bbr; sysctl net.ipv4.tcp_available_congestion_control",
			"congctl host kernel check --running"}},
		{"An older kernel than 4.9: update before you build any.", []string{"sudo dnf upgrade -y kernel && sudo reboot"}},
		{"Room for the build: 10 GB for a kernel of 2017, twice that for one of today. A disk of the\ninstance, mounted on ~/rpmbuild, will do.", []string{"df -h --output=avail ~"}},
		{"Packages.", []string{
			`sudo dnf groupinstall -y "Development Tools"`,
			"sudo dnf install -y rpm-build rpmdevtools dnf-plugins-core openssl-devel elfutils-libelf-devel elfutils-devel dwarves bc"}},
		{"The source package of the running kernel, and what its build needs.", []string{
			`dnf download --source "$(rpm -qf "/boot/vmlinuz-$(uname -r)")"`,
			"rpm -i kernel*.src.rpm",
			"sudo dnf builddep -y " + spec}},
		{"The configuration: of a symbol that stands twice the last line holds.", []string{
			"ls " + source + "      # an older package calls it config-generic",
			"cat " + fragmentFile + " >> " + source}},
		{"A build id of its own: the second command must print a line.", []string{
			`sed -i 's/^\(%define buildid .*\)$/\1.` + buildID + `/' ` + spec,
			"grep -n 'buildid .*" + buildID + "' " + spec}},
		{"Unpack and configure only, and look at what came out: an unmet dependency drops a symbol\nwithout an error.", []string{
			"rpmbuild -bp " + spec,
			`congctl host kernel check --config "$(find ~/rpmbuild/BUILD -name .config | head -n 1)" --against ` + fragmentFile}},
		{"Build and install beside the old kernel, which stays to boot from.", []string{
			"rpmbuild -bb " + spec,
			`sudo rpm -ivh ~/rpmbuild/RPMS/"$(uname -m)"/kernel*-[0-9]*.` + buildID + ".*.rpm && sudo reboot"}},
		running("has ." + buildID + "."),
	}
}
