package sqlite

import (
	"errors"
	"fmt"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/congctl/congctl/internal/loop/journal"
)

// What can be wrong with a store. Each is wrapped with the path, the fault and the next
// step; none of them changes the file.
var (
	ErrForeign  = errors.New("not a congctl store")
	ErrDamaged  = errors.New("store damaged")
	ErrNewer    = errors.New("store of a newer congctl")
	ErrOlder    = errors.New("store of an older congctl")
	ErrLocked   = errors.New("store locked by another process")
	ErrFull     = errors.New("store cannot grow")
	ErrReadOnly = errors.New("store opened read-only")
	ErrExists   = journal.ErrExists
)

// explain turns SQLite's result codes into the sentinels, and names the path
// where err does not yet.
func explain(path, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case isOurs(err) && strings.Contains(err.Error(), path):
		return err
	case isOurs(err):
		return fmt.Errorf("%s in store %s: %w", what, path, err)
	}
	sentinel, hint := sentinelOf(err)
	if sentinel == nil {
		return fmt.Errorf("%s in store %s: %w", what, path, err)
	}
	return fmt.Errorf("%s in store %s: %w: %w; %s", what, path, sentinel, err, hint)
}

func isOurs(err error) bool {
	for _, s := range []error{ErrForeign, ErrDamaged, ErrNewer, ErrOlder, ErrLocked, ErrFull, ErrReadOnly, ErrExists, ErrGone} {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

func sentinelOf(err error) (sentinel error, hint string) {
	code := codeOf(err)
	switch code & 0xff {
	case lib.SQLITE_CORRUPT, lib.SQLITE_FORMAT:
		return ErrDamaged, damagedHint
	case lib.SQLITE_NOTADB:
		return ErrForeign, foreignHint
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return ErrLocked, "wait for the other process, or stop it (fuser -v shows which)"
	case lib.SQLITE_FULL:
		return ErrFull, "nothing of this commit was kept: free space on its file system, or shorten the retention"
	case lib.SQLITE_READONLY:
		return ErrReadOnly, "open it for writing as its owner"
	case lib.SQLITE_TOOBIG, lib.SQLITE_NOMEM:
		return ErrDamaged, fmt.Sprintf("congctl writes no value of more than %d MiB, and reads none; %s", maxValue>>20, damagedHint)
	case lib.SQLITE_CONSTRAINT:
		return ErrExists, "nothing of this commit was kept: give each row its own key"
	case lib.SQLITE_IOERR:
		return ioSentinel(code)
	}
	return nil, ""
}

// ioSentinel separates "no room" (a quota or file-size limit is EFBIG or EDQUOT
// to the kernel and a plain write error to SQLite) from a disk that fails to read.
func ioSentinel(code int) (error, string) {
	switch code {
	case lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_TRUNCATE, lib.SQLITE_IOERR_SHMSIZE:
		return ErrFull, "nothing of this commit was kept: check free space, quota and file-size limit, then the kernel log for disk faults"
	case lib.SQLITE_IOERR_READ, lib.SQLITE_IOERR_SHORT_READ, lib.SQLITE_IOERR_CORRUPTFS:
		return ErrDamaged, damagedHint
	}
	return nil, ""
}

const (
	damagedHint = "the file was left as it is: keep a copy, try \"sqlite3 FILE .recover\", or move it away and start afresh"
	foreignHint = "the file was left as it is: choose another path for the store"
)

func codeOf(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code()
	}
	return 0
}
