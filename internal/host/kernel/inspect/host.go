package host

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/advise"
	"github.com/congctl/congctl/internal/kernel/ownconfig"
)

// Files is a tree of files, paths absolute.
type Files interface {
	Read(path string) (string, error)
	// List gives the names in a directory, sorted.
	List(dir string) ([]string, error)
	// Look tells where a symbolic link points, "" for anything else, and whether the file,
	// behind the link, may be run.
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
	// Tier says how much of the closed loop the kernel carries, and why not more.
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

// Read gathers all facts. It cannot fail: what cannot be read says why.
func (h Host) Read() advise.Facts {
	own, odd := ownconfig.Running(h.Files, h.release())
	f := advise.Facts{
		System: h.system(),
		Kernel: h.kernel(own),
		Sysctl: map[string]advise.Known[string]{},
		CPU:    h.cpu(),
		Files:  h.texts(),
	}
	for _, key := range advise.Keys {
		f.Sysctl[key] = h.Sysctl(key)
	}
	f.Cong = h.cong()
	f.Modules = h.modules(f.Kernel, f.Cong, own, odd)
	f.Links = known(h.Network.Links())
	f.Sockets = known(h.Network.Sockets())
	f.Spaces = known(h.Network.Spaces())
	f.Loop = h.loop()
	return f
}

func (h Host) loop() (l advise.Loop) {
	tier, reasons, err := h.Programs.Tier()
	l.Tier, l.Reasons = known(tier, err), reasons
	l.Others = known(h.Programs.SockOps())
	return l
}

func known[T any](v T, err error) advise.Known[T] {
	if err != nil {
		return advise.Unknown[T](Why(err))
	}
	return advise.Know(v)
}

// Why puts an error as the reason of an unknown value: short where everybody knows the rest.
func Why(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "not there"
	case errors.Is(err, unix.EPERM), errors.Is(err, fs.ErrPermission):
		return "not permitted"
	}
	return err.Error()
}

// has reports whether a file can be seen.
func (h Host) has(path string) bool {
	_, err := h.Files.Read(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// link is where a symbolic link points.
func (h Host) link(path string) string {
	to, _ := h.Files.Look(path)
	return to
}

// text is a file's text, "" for none.
func (h Host) text(path string) string {
	s, _ := h.Files.Read(path)
	return s
}
