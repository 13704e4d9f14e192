package carry

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
)

// memDisk is a disk that remembers what was synced. A power cut may lose the rest, in
// any of several ways.
type memDisk struct {
	live, durable map[string]*inode // entries by path
}

type inode struct {
	dir          bool
	now, durable change.Value
}

// loss is what a power cut does to what was not synced.
type loss string

const (
	loseAll     loss = "all is lost"
	keepAll     loss = "all is kept"
	loseContent loss = "names are kept, contents lost"
	tearContent loss = "contents are torn"
)

var losses = []loss{loseAll, keepAll, loseContent, tearContent}

func newMemDisk(paths ...string) *memDisk {
	d := &memDisk{live: map[string]*inode{}, durable: map[string]*inode{}}
	for _, p := range append([]string{"/"}, paths...) {
		v := change.Value{Present: true, Mode: 0o755}
		d.live[p] = &inode{dir: true, now: v, durable: v}
	}
	d.durable = maps.Clone(d.live)
	return d
}

// put lays a file down as if it had always been there.
func (d *memDisk) put(p string, v change.Value) {
	n := &inode{now: v, durable: v}
	if !v.Present {
		delete(d.live, p)
		delete(d.durable, p)
		return
	}
	d.live[p], d.durable[p] = n, n
}

func (d *memDisk) Do(op Op) error {
	if d.live[path.Dir(op.Path)] == nil && op.Kind != OpAnnounce {
		return unix.ENOENT
	}
	n := d.live[op.Path]
	if n == nil && op.Kind != OpCreate && op.Kind != OpMakeDir && op.Kind != OpAnnounce {
		return unix.ENOENT
	}
	switch op.Kind {
	case OpCreate:
		d.live[op.Path] = &inode{now: change.Value{Present: true, Text: string(op.Data), Mode: op.Mode, UID: op.UID, GID: op.GID}}
	case OpMakeDir:
		if n != nil {
			return unix.EEXIST
		}
		d.live[op.Path] = &inode{dir: true, now: change.Value{Present: true, Mode: op.Mode, UID: op.UID, GID: op.GID}}
	case OpAppend:
		n.now.Text += string(op.Data)
	case OpCut:
		n.now.Text = n.now.Text[:op.Size]
	case OpSync:
		d.sync(op.Path, n)
	case OpRename:
		d.live[op.To] = n
		delete(d.live, op.Path)
	case OpRemove:
		if n.dir && len(d.children(op.Path)) > 0 {
			return unix.ENOTEMPTY
		}
		delete(d.live, op.Path)
	}
	return nil
}

func (d *memDisk) children(p string) (list []string) {
	for c := range d.live {
		if path.Dir(c) == p && c != p {
			list = append(list, c)
		}
	}
	slices.Sort(list)
	return list
}

func (d *memDisk) sync(p string, n *inode) {
	n.durable = n.now
	if !n.dir {
		return
	}
	maps.DeleteFunc(d.durable, func(c string, _ *inode) bool { return path.Dir(c) == p && c != p })
	for _, c := range d.children(p) {
		d.durable[c] = d.live[c]
	}
}

func (d *memDisk) Read(p string) (change.Value, error) {
	n := d.live[p]
	if n == nil {
		return change.Absent, nil
	}
	return n.now, nil
}

func (d *memDisk) ReadOwn(p string) ([]byte, error) {
	v, err := d.Read(p)
	if err == nil && !v.Present {
		err = unix.ENOENT
	}
	return []byte(v.Text), err
}

func (d *memDisk) Own(string) error { return nil }

func (d *memDisk) List(p string) (names []string, err error) {
	for _, c := range d.children(p) {
		names = append(names, path.Base(c))
	}
	return names, nil
}

// cut takes the power away: what is left is what the next boot reads.
func (d *memDisk) cut(l loss) {
	if l == loseAll {
		d.live = maps.Clone(d.durable)
	}
	for _, n := range d.live {
		kept, all := n.durable.Text, n.now.Text
		switch {
		case l == keepAll:
			kept = all
		case l == tearContent && strings.HasPrefix(all, kept):
			kept = all[:(len(kept)+len(all))/2]
		}
		n.now.Text = kept
		n.durable = n.now
	}
	d.durable = maps.Clone(d.live)
}

// text is the whole tree but for the journals, for a comparison to the byte.
func (d *memDisk) text() string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(d.live)) {
		if n := d.live[p]; !strings.HasPrefix(p, "/var") {
			fmt.Fprintf(&b, "%s %s %d:%d %q\n", p, fs.FileMode(n.now.Mode), n.now.UID, n.now.GID, n.now.Text)
		}
	}
	return b.String()
}
