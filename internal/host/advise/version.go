package advise

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// IsBBR reports whether a congestion control is a version of BBR: kernels that have more than one call
// the others bbr1, bbr2 and bbr3.
func IsBBR(name string) bool {
	return strings.HasPrefix(name, "bbr") && strings.Trim(name[3:], "0123456789") == ""
}

// BBRVersion is the version of a name of BBR on this host. That of the plain name is in its module; Linux's own says
// nothing and is 1.
func (f *Facts) BBRVersion(name string) int {
	version := strings.TrimPrefix(name, "bbr")
	if version == "" {
		version, _, _ = strings.Cut(f.Module("tcp_bbr").Version, ".")
	}
	n, _ := strconv.Atoi(version)
	return max(n, 1)
}

// BBR is the name of the version that this host uses, or would get: nobody is moved to another one. The present one comes
// first, then what a boot sets, then plain bbr, then the newest that is registered.
func (f *Facts) BBR() string {
	if IsBBR(f.Cong.Current.Value) {
		return f.Cong.Current.Value
	}
	if boot := f.AfterBoot(KeyCong).Value.Value; IsBBR(boot) {
		return boot
	}
	state := f.Module("tcp_bbr").State
	have := f.versions()
	if slices.Contains(have, "bbr") || len(have) == 0 || state.OK() && state.Value != ModuleAbsent {
		return "bbr"
	}
	return slices.MaxFunc(have, func(a, b string) int { return cmp.Compare(f.BBRVersion(a), f.BBRVersion(b)) })
}

// module is that of BBR.
func (f *Facts) module() string { return "tcp_" + f.BBR() }

// versions are the registered names of BBR.
func (f *Facts) versions() []string {
	return slices.DeleteFunc(slices.Clone(f.Cong.Available.Value), func(name string) bool { return !IsBBR(name) })
}

// hasBBR: some kernels of distributions have it earlier than the version says.
func (f *Facts) hasBBR() bool { return len(f.versions()) > 0 }

// connections of BBR, whatever its version.
func (s Sockets) bbr() (n int) {
	for name, count := range s.ByCong {
		if IsBBR(name) {
			n += count
		}
	}
	return n
}
