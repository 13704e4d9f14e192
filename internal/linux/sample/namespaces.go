package sample

// The namespaces to poll: this thread's own, the named ones of /run/netns (iproute2, CNI),
// and those of every process. One namespace has many paths, so the inode identifies it;
// the best name wins. A namespace that no path leads to any more is closed, because our
// descriptors would keep it alive.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/nsthread"
)

// Names that are none of /run/netns.
const (
	Own = "own" // the calling thread's; needs no privilege
	All = "all" // alone: every one that a process or /run/netns holds
)

const namedDir = "/run/netns"

// Namespaces is a set of open namespaces. Not for concurrent use.
type Namespaces struct {
	names   []string
	trusted func(fd int) (bool, error) // nil: all are
	open    []*Namespace
}

// Change is what a Refresh did. Gone namespaces are closed already.
type Change struct {
	Added, Gone []*Namespace
	Unreadable  int      // processes whose namespace we may not read, without privilege
	NotTrusted  []string // left out by [OpenTrusted], each under its best name
}

type candidate struct {
	path, name string
	ino        uint64
}

// OpenNamespaces opens namespaces by names of /run/netns or paths, [Own], or [All] alone.
// Where some cannot be opened, the error names them and the set holds the others; the set
// is nil only when there is no name.
func OpenNamespaces(names ...string) (*Namespaces, error) { return open(nil, names) }

func open(trusted func(fd int) (bool, error), names []string) (*Namespaces, error) {
	if len(names) == 0 {
		return nil, errors.New("open network namespaces: no name is given; write own, all, a namespace of /run/netns, or a path")
	}
	s := &Namespaces{names: names, trusted: trusted}
	_, err := s.Refresh()
	return s, err
}

// OpenTrusted is OpenNamespaces without those that another user namespace than ours owns,
// however they are named: who may make a user namespace, as every user may on most hosts, has
// in its network namespaces whatever addresses, routes and so clients it makes up. The one
// that we run in is always in the set.
func OpenTrusted(names ...string) (*Namespaces, error) { return open(ownedHere, names) }

// All lists the open namespaces, own first, then by inode.
func (s *Namespaces) All() []*Namespace { return s.open }

// Close closes all of them.
func (s *Namespaces) Close() error {
	var err error
	for _, n := range s.open {
		err = errors.Join(err, n.Close())
	}
	s.open = nil
	return err
}

// Refresh opens namespaces that are new and closes those that are gone. An error
// is about single namespaces: the others are open and current.
func (s *Namespaces) Refresh() (Change, error) {
	found, unreadable, err := s.find()
	change := Change{Unreadable: unreadable}
	s.open = slices.DeleteFunc(s.open, func(n *Namespace) bool {
		if slices.ContainsFunc(found, func(c candidate) bool { return c.ino == n.Inode }) {
			return false
		}
		err = errors.Join(err, n.Close())
		change.Gone = append(change.Gone, n)
		return true
	})
	for _, c := range found {
		if slices.ContainsFunc(s.open, func(n *Namespace) bool { return n.Inode == c.ino }) {
			continue
		}
		n, e := c.openIt(s.trusted)
		switch {
		case errors.Is(e, fs.ErrNotExist) && s.all():
			continue // died since we saw it
		case errors.Is(e, errNotTrusted):
			change.NotTrusted = append(change.NotTrusted, c.name)
			continue
		case e != nil:
			err = errors.Join(err, e)
			continue
		}
		s.open = append(s.open, n)
		change.Added = append(change.Added, n)
	}
	slices.SortFunc(s.open, func(a, b *Namespace) int {
		if own := ownRank(a) - ownRank(b); own != 0 {
			return own
		}
		return cmp.Compare(a.Inode, b.Inode)
	})
	return change, err
}

func ownRank(n *Namespace) int {
	if n.Name == Own {
		return 0
	}
	return 1
}

func (c candidate) openIt(trusted func(fd int) (bool, error)) (*Namespace, error) {
	if own, err := inode(nsthread.Own); err == nil && own == c.ino {
		return openNamespace(c.name, c.ino)
	}
	fd, err := unix.Open(c.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open network namespace %s: %w", c.name, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Ino != c.ino {
		return nil, fmt.Errorf("open network namespace %s: changed meanwhile: %w", c.name, fs.ErrNotExist)
	}
	if trusted != nil {
		if ok, err := trusted(fd); err != nil {
			return nil, fmt.Errorf("find the owner of network namespace %s: %w", c.name, err)
		} else if !ok {
			return nil, errNotTrusted
		}
	}
	var n *Namespace
	err = nsthread.Run(fd, func() error {
		var err error
		n, err = openNamespace(c.name, c.ino)
		return err
	})
	return n, err
}

func (s *Namespaces) find() (found []candidate, unreadable int, err error) {
	f := finder{seen: map[uint64]bool{}}
	if s.all() {
		err = f.add(nsthread.Own, func() string { return Own })
		f.addNamed()
		f.addProcesses()
		return f.found, f.unreadable, err
	}
	for _, name := range s.names {
		err = errors.Join(err, f.add(listedPath(name), func() string { return name }))
	}
	return f.found, 0, err
}

func (s *Namespaces) all() bool { return len(s.names) == 1 && s.names[0] == All }

// finder collects namespaces, each under the first path that leads to it.
type finder struct {
	seen       map[uint64]bool
	found      []candidate
	unreadable int
}

func (f *finder) add(path string, name func() string) error {
	ino, err := inode(path)
	if err != nil {
		return fmt.Errorf("find network namespace %s: %w", path, err)
	}
	if !f.seen[ino] {
		f.seen[ino] = true
		f.found = append(f.found, candidate{path: path, name: name(), ino: ino})
	}
	return nil
}

func listedPath(name string) string {
	switch {
	case name == Own:
		return nsthread.Own
	case strings.ContainsRune(name, '/'):
		return name
	}
	return filepath.Join(namedDir, name)
}

func (f *finder) addNamed() {
	entries, err := os.ReadDir(namedDir)
	if err != nil {
		return // no named namespaces on this host
	}
	for _, e := range entries {
		path := filepath.Join(namedDir, e.Name())
		if isNamespace(path) {
			_ = f.add(path, e.Name)
		}
	}
}

// isNamespace distinguishes a namespace from the empty file that "ip netns add" leaves
// behind when its bind mount is gone.
func isNamespace(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Type == unix.NSFS_MAGIC
}

func (f *finder) addProcesses() {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		err = f.add(fmt.Sprintf("/proc/%d/ns/net", pid), func() string { return processName(pid) })
		if errors.Is(err, fs.ErrPermission) {
			f.unreadable++
		}
	}
}

func processName(pid int) string {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return fmt.Sprintf("pid %d", pid)
	}
	return fmt.Sprintf("pid %d (%s)", pid, strings.TrimSpace(string(comm)))
}
