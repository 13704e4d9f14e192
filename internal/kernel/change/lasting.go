package change

import (
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/change"
)

// ForgottenError says that a reboot would empty the directory of the journals and keep
// a file that is to be written: nothing could take that back then.
type ForgottenError struct{ Dir, Target string }

func (e ForgottenError) Error() string {
	return fmt.Sprintf("a reboot empties the directory of the journals, %s (a tmpfs), and keeps %s: it could not be taken back then", e.Dir, e.Target)
}

// Lasting refuses steps whose journal would be gone before they are. Where both go with
// a reboot, as on a system that runs from memory, all is as before then.
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

// Forgets tells whether a reboot empties what a path is on, or will be.
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
