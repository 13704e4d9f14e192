package inspect

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/host/advise"
)

// Files is a tree of files, paths absolute.
type Files interface {
	Read(path string) (string, error)
	// List returns the names in a directory, sorted.
	List(dir string) ([]string, error)
	// Look returns where a symbolic link points, "" for anything else, and whether the
	// file, behind the link, may be run.
	Look(path string) (link string, exec bool)
}

// Network is the network namespace that this program is in.
type Network interface {
	Links() ([]advise.Link, error)
	Sockets() (advise.Sockets, error)
	// Spaces are the other network namespaces.
	Spaces() ([]advise.Space, error)
}

// Programs is the kernel's eBPF.
type Programs interface {
	// Tier returns how much of the closed loop the kernel carries, and why not more.
	Tier() (tier string, reasons []string, err error)
	SockOps() ([]advise.Program, error)
}

// Host is where facts come from.
type Host struct {
	Files    Files
	Network  Network
	Programs Programs
}

// Local is this very host.
func Local() Host { return Host{Tree("/"), local{}, local{}} }

// Read gathers all facts. It cannot fail: a fact that cannot be read has the reason.
func (h Host) Read() advise.Facts {
	own, odd := h.Config()
	f := advise.Facts{
		System: h.system(),
		Kernel: h.kernel(own),
		Sysctl: map[string]advise.Known[string]{},
		CPU:    h.cpu(),
		Files:  h.texts(),
	}
	f.Writers = h.writers(f.Files)
	for _, key := range advise.Keys {
		v, err := h.Files.Read(SysctlPath(key))
		f.Sysctl[key] = known(strings.Join(strings.Fields(v), " "), err)
	}
	list := func(key string) advise.Known[[]string] {
		return advise.Known[[]string]{Value: strings.Fields(f.Sysctl[key].Value), Why: f.Sysctl[key].Why}
	}
	f.Cong = advise.Cong{Available: list(advise.KeyAvailable), Allowed: list(advise.KeyAllowed), Current: f.Sysctl[advise.KeyCong]}
	f.Modules = h.modules(f.Kernel, f.Cong, own, odd)
	f.Kernel.Congs = congs(f.Kernel, f.Cong, own.Modules)
	f.Links = known(h.Network.Links())
	f.Sockets = known(h.Network.Sockets())
	f.Spaces = known(h.Network.Spaces())
	tier, reasons, err := h.Programs.Tier()
	f.Loop = advise.Loop{Tier: known(tier, err), Reasons: reasons, Others: known(h.Programs.SockOps())}
	return f
}

func known[T any](v T, err error) advise.Known[T] {
	if err != nil {
		return advise.Unknown[T](why(err))
	}
	return advise.Know(v)
}

// SysctlPath returns the file of a setting. A slash in a name stands for a dot within a
// part (net.ipv4.conf.eth0/100.rp_filter), as in sysctl.d.
func SysctlPath(key string) string {
	return "/proc/sys/" + strings.NewReplacer(".", "/", "/", ".").Replace(key)
}

// why turns an error into the reason of an unknown value, shortened where the rest is
// obvious.
func why(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "not there"
	case errors.Is(err, unix.EPERM), errors.Is(err, fs.ErrPermission):
		return "not permitted"
	}
	return err.Error()
}

func (h Host) has(path string) bool {
	_, err := h.Files.Read(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

func (h Host) link(path string) string {
	to, _ := h.Files.Look(path)
	return to
}

// text is a file's text, "" for none.
func (h Host) text(path string) string {
	s, _ := h.Files.Read(path)
	return s
}
