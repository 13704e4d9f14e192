package carry

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/plainfile"
)

// maxLinks on one path, as the kernel has it.
const maxLinks = 40

// walk goes down a path of the host. Image-based distributions have /var or /etc behind
// links; root's own are followed, within the root directory. A link that another user
// could redirect is not: a change would be written wherever they like.
type walk struct {
	root string
	at   string   // where it is: absolute, below root, free of links
	rest []string // what is to come
	// Of the last link: its text, and how much was to come behind it.
	link  string
	after int
	links int
}

// path returns where a path of the host is on this machine. It follows the last name only
// on request: a file that is a link is no target.
func (d HostDisk) path(name string, last bool) (string, error) {
	at, err := d.below(name, last)
	return filepath.Join(d.Root, at), err
}

// below is path without the root.
func (d HostDisk) below(name string, last bool) (string, error) {
	w := &walk{root: d.Root, at: "/", rest: names(name)}
	for len(w.rest) > 0 {
		if err := w.step(last); err != nil {
			return "", err
		}
	}
	if w.links > 0 {
		if err := w.trusted(path.Dir(w.at)); err != nil {
			return "", err
		}
	}
	return w.at, nil
}

func names(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}

func (w *walk) step(last bool) error {
	name := w.rest[0]
	w.rest = w.rest[1:]
	if name == ".." {
		w.at = path.Dir(w.at)
		return nil
	}
	at := path.Join(w.at, name)
	var st unix.Stat_t
	err := unix.Lstat(w.root+at, &st)
	switch {
	case err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK && (last || len(w.rest) > 0):
		return w.follow(at, st.Uid)
	case errors.Is(err, unix.ENOENT) && w.links > 0 && len(w.rest) >= w.after:
		return fmt.Errorf("%s: there is no %s: create it, or repair the link", w.link, at)
	}
	w.at = at
	return nil
}

func (w *walk) follow(at string, owner uint32) error {
	to, err := os.Readlink(w.root + at)
	if err != nil {
		return err
	}
	w.link, w.after = fmt.Sprintf("follow %s -> %s", at, to), len(w.rest)
	if w.links++; w.links > maxLinks {
		return fmt.Errorf("%s: too many links", w.link)
	}
	if !plainfile.Owned(owner) {
		return fmt.Errorf("%s: it belongs to user %d: chown -h root %s", w.link, owner, at)
	}
	if err := w.trusted(w.at); err != nil {
		return err
	}
	if path.IsAbs(to) {
		w.at = "/"
	}
	w.rest = append(names(to), w.rest...)
	return nil
}

// trusted adds the link to what is wrong with where it leads.
func (w *walk) trusted(dir string) error {
	if err := plainfile.OwnedDir(w.root, dir); err != nil {
		return fmt.Errorf("%s: %w", w.link, err)
	}
	return nil
}
