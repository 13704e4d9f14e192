package change

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/change"
)

// Place reads and writes the targets of one kind. Write makes the target have exactly
// the value, or not exist.
type Place interface {
	Read(target string) (change.Value, error)
	Write(target string, v change.Value) error
}

// ErrInUse says that a target cannot be taken away because somebody uses it: a module
// with connections, a directory with other files. An undo leaves it.
var ErrInUse = errors.New("in use")

// files is the place of files: each is replaced as a whole, so that a reader sees the
// old or the new one, and after a power cut, too.
type files struct{ disk Disk }

func (f files) Read(target string) (change.Value, error) {
	v, err := f.disk.Read(target)
	return v, err
}

// besides is the file that becomes the target. Its name ends in nothing that sysctl.d,
// modules-load.d or networkd would read.
func besides(target string) string {
	dir, base := path.Split(target)
	return dir + "." + base + ".congctl-new"
}

func (f files) Write(target string, v change.Value) error {
	dir := path.Dir(target)
	if !v.Present {
		if err := f.disk.Do(Op{Kind: OpRemove, Path: target}); err != nil {
			return err
		}
		return f.disk.Do(Op{Kind: OpSync, Path: dir})
	}
	fresh := besides(target)
	return inOrder(f.disk,
		Op{Kind: OpCreate, Path: fresh, Data: []byte(v.Text), Mode: v.Mode, UID: v.UID, GID: v.GID},
		Op{Kind: OpSync, Path: fresh},
		Op{Kind: OpRename, Path: fresh, To: target},
		Op{Kind: OpSync, Path: dir})
}

// sweep removes what an interrupted Write left beside the target.
func (f files) sweep(target string) error {
	v, err := f.disk.Read(besides(target))
	if err != nil || !v.Present {
		return err
	}
	return inOrder(f.disk, Op{Kind: OpRemove, Path: besides(target)}, Op{Kind: OpSync, Path: path.Dir(target)})
}

type dirs struct{ disk Disk }

func (d dirs) Read(target string) (change.Value, error) { return d.disk.Read(target) }

func (d dirs) Write(target string, v change.Value) error {
	op := Op{Kind: OpMakeDir, Path: target, Mode: v.Mode, UID: v.UID, GID: v.GID}
	if !v.Present {
		op = Op{Kind: OpRemove, Path: target}
	}
	err := inOrder(d.disk, op, Op{Kind: OpSync, Path: path.Dir(target)})
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("%w: other files lie in it", ErrInUse)
	}
	return err
}

func inOrder(disk Disk, ops ...Op) error {
	for _, op := range ops {
		if err := disk.Do(op); err != nil {
			return err
		}
	}
	return nil
}
