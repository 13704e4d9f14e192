package carry

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/linux/plainfile"
)

// OpKind names one system call, or a pair that cannot be told apart after a crash.
type OpKind string

// The operations.
const (
	OpCreate   OpKind = "create" // or empty an old one; Data, Mode and owner
	OpAppend   OpKind = "append" // Data
	OpCut      OpKind = "cut"    // to Size
	OpSync     OpKind = "sync"   // file or directory
	OpRename   OpKind = "rename" // to To
	OpRemove   OpKind = "remove" // file or empty directory
	OpMakeDir  OpKind = "mkdir"  // Mode
	OpAnnounce OpKind = "write"  // no disk: a step that is not a file is about to be written
)

// Op is one operation on the disk. Paths are absolute on the host.
type Op struct {
	Kind     OpKind
	Path, To string
	Data     []byte
	Size     int64
	Mode     uint32
	UID, GID uint32
}

// Disk is the only access to the host's files, so that a test can stop before and after
// each operation, and lose what was not synced.
type Disk interface {
	Do(Op) error
	// Read returns a file with mode and owner, or a directory without text.
	Read(path string) (change.Value, error)
	// ReadOwn returns the text of a file of congctl's own, if nobody else could have written it.
	ReadOwn(path string) ([]byte, error)
	// Own checks that nobody else may change what is in a directory of congctl's own.
	Own(dir string) error
	// List returns the names in a directory; none if it does not exist.
	List(path string) ([]string, error)
}

// HostDisk is the disk below a root directory, "/" for the host itself.
type HostDisk struct{ Root string }

// Do does one operation.
func (d HostDisk) Do(op Op) error {
	if op.Kind == OpAnnounce {
		return nil
	}
	p, err := d.path(op.Path, op.Kind == OpSync)
	if err != nil {
		return err
	}
	switch op.Kind {
	case OpCreate:
		return create(p, op)
	case OpAppend:
		return onFile(p, os.O_WRONLY|os.O_APPEND, func(f *os.File) error {
			_, err := f.Write(op.Data)
			return err
		})
	case OpCut:
		return os.Truncate(p, op.Size)
	case OpSync:
		return onFile(p, os.O_RDONLY|unix.O_NONBLOCK, (*os.File).Sync)
	case OpRename:
		to, err := d.path(op.To, false)
		if err != nil {
			return err
		}
		return os.Rename(p, to)
	case OpRemove:
		return os.Remove(p)
	case OpMakeDir:
		if err := os.Mkdir(p, fs.FileMode(op.Mode)); err != nil {
			return err
		}
		return own(p, op)
	}
	return fmt.Errorf("operate on %s: unknown operation %q", op.Path, op.Kind)
}

func create(p string, op Op) error {
	// Anyone may have left a link in our place in a directory that others write.
	if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(op.Data)
	return errors.Join(err, f.Close(), own(p, op))
}

// own sets owner and mode: the umask does not affect what is restored. A user other than
// root only makes files of its own.
func own(p string, op Op) error {
	if os.Geteuid() == 0 {
		if err := os.Chown(p, int(op.UID), int(op.GID)); err != nil {
			return err
		}
	}
	return unix.Chmod(p, op.Mode)
}

func onFile(p string, flags int, fn func(*os.File) error) error {
	f, err := os.OpenFile(p, flags, 0)
	if err != nil {
		return err
	}
	return errors.Join(fn(f), f.Close())
}

// maxFile bounds what is read whole: a file of settings has some kB.
const maxFile = change.MaxJournalBytes

// Read reads a target. A device, a huge file or a link to a file is no target.
func (d HostDisk) Read(path string) (v change.Value, err error) {
	p, err := d.path(path, false)
	if err != nil {
		return v, fmt.Errorf("read %s: %w", path, err)
	}
	if to, err := os.Readlink(p); err == nil {
		full, err := d.path(path, true)
		if st, lost := os.Stat(full); err == nil && lost == nil && !st.IsDir() {
			err = fmt.Errorf("it is a link to %s: congctl replaces only plain files", to)
		}
		if err != nil {
			return v, fmt.Errorf("read %s: %w", path, err)
		}
		p = full
	}
	return read(p, path)
}

// read asks everything of the open file: what is at a path can change between a look and the opening.
func read(p, path string) (v change.Value, err error) {
	var st unix.Stat_t
	fd, err := unix.Open(p, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return change.Absent, nil
	case errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO): // a link, a socket
		return v, fmt.Errorf("read %s: not a plain file: congctl replaces only plain files", path)
	case err != nil:
		return v, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := unix.Fstat(fd, &st); err != nil {
		return v, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	v = change.Value{Present: true, Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return v, nil
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return v, fmt.Errorf("read %s: not a plain file: congctl replaces only plain files", path)
	case st.Size > maxFile:
		return v, fmt.Errorf("read %s: %d bytes, of which congctl reads at most %d", path, st.Size, maxFile)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	v.Text = string(b)
	return v, err
}

// ReadOwn is [plainfile.ReadOwned].
func (d HostDisk) ReadOwn(path string) ([]byte, error) {
	at, err := d.below(path, false)
	if err != nil {
		return nil, err
	}
	return plainfile.ReadOwned(d.root(), at, maxFile)
}

// Own is [plainfile.OwnedDir].
func (d HostDisk) Own(dir string) error {
	at, err := d.below(dir, true)
	if err != nil {
		return err
	}
	return plainfile.OwnedDir(d.root(), at)
}

// root is what absolute paths follow.
func (d HostDisk) root() string { return strings.TrimSuffix(d.Root, "/") }

// List lists a directory.
func (d HostDisk) List(path string) (names []string, err error) {
	p, err := d.path(path, true)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// ForgottenError means that a reboot would empty the directory of the journals and keep a
// file to be written: then nothing could undo that.
type ForgottenError struct{ Dir, Target string }

func (e ForgottenError) Error() string {
	return fmt.Sprintf("a reboot empties the journal directory %s (a tmpfs) but keeps %s, which could not be undone then", e.Dir, e.Target)
}

// Lasting refuses steps that would outlive their journal. If a reboot clears both, as on a
// system that runs from memory, everything is then as before.
func (e *Engine) Lasting(steps []change.Step) error {
	if e.forgets == nil || !e.forgets(e.dir) {
		return nil
	}
	for _, s := range steps {
		if !s.Kind.Volatile() && !e.forgets(s.Target) {
			return ForgottenError{e.dir, s.Target}
		}
	}
	return nil
}

// Forgets reports whether a reboot empties what a path is on, or will be.
func (d HostDisk) Forgets(name string) bool {
	for ; ; name = path.Dir(name) {
		var fs unix.Statfs_t
		p, err := d.path(name, true)
		if err == nil && unix.Statfs(p, &fs) == nil {
			kind := uint32(fs.Type) // of 32 bits, signed where a long is
			return kind == unix.TMPFS_MAGIC || kind == unix.RAMFS_MAGIC
		}
		if name == "/" || name == "." {
			return false
		}
	}
}

// ErrPowerCut is what a disk returns when a test has cut its power: the engine stops at
// once and does not even try to undo anything.
var ErrPowerCut = errors.New("power cut")

// Counted is a disk that counts its operations and calls Cut before the N-th, from 1
// on, whatever it is. Tests use it to end the process, or the machine, right there.
type Counted struct {
	Disk
	N   int
	Cut func() error
}

// Do counts and does.
func (c *Counted) Do(op Op) error {
	if c.N--; c.N == 0 {
		return c.Cut()
	}
	return c.Disk.Do(op)
}
