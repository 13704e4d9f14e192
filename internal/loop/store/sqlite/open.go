package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Options of Open. The zero value opens for writing with everything checked.
type Options struct {
	ReadOnly  bool      // no creation, no migration, no write; several readers may run beside one writer
	Still     bool      // with ReadOnly: a copy that no process writes; no file is made beside it
	SkipCheck bool      // do not read the whole file first (about 200 MB/s); rows are still checked as they are read
	CreatedBy string    // program and version, kept in a new store
	At        time.Time // now: the creation time of a new store and the date in a backup's name
}

const (
	// One commit of 200,000 rows holds the write lock for about 2 s; longer is a writer that hangs, and the loop must end within 5 s of SIGTERM.
	busyTimeout = 3 * time.Second
	// 8 MiB of pages: the working set of one commit. SQLite's default of 2 MB spills a 20,000-row commit to the log early.
	cacheKiB = 8 << 10
	// The log grows with the largest commit; past 64 MiB it is cut back at the next checkpoint.
	walLimitBytes = 64 << 20
	// Readers of one process: the API and one long scan.
	readers = 2
	// A plan has 8 MiB at most (plan.MaxFileBytes), a round of 100,000 cooling networks 20 MB.
	maxValue = 32 << 20
)

// Store is an open store. Its methods may be called from several goroutines;
// writes queue up behind each other, reads see the last commit and never wait.
type Store struct {
	path  string
	write *sql.DB // nil when read-only
	read  *sql.DB

	// Of a writer: its files as opened, and the end of the chain.
	file, wal os.FileInfo
	head      *os.File
	missing   Missing
	chain     sync.Mutex // one commit and its link in the file at a time
}

// Open opens the store at path and, for a writer, creates it when the file is
// absent or empty, and migrates an older schema after a backup.
//
// It fails with fs.ErrNotExist (read-only, no file), [ErrForeign], [ErrDamaged],
// [ErrNewer], [ErrOlder] (read-only), [ErrLocked]; each names the path, the fault and the
// next step, and leaves the file as it is.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	useOFDLocks()
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := sniff(path); errors.Is(err, errAbsent) {
		if o.ReadOnly {
			return nil, fmt.Errorf("open store %s: %w; the first \"congctl up\" on this host makes it", path, fs.ErrNotExist)
		}
		if err := create(ctx, path, o); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	return openExisting(ctx, path, o)
}

func openExisting(ctx context.Context, path string, o Options) (*Store, error) {
	s := &Store{path: path}
	var err error
	if s.read, err = openReader(ctx, path, o.Still); err != nil {
		return nil, err
	}
	if err := inspect(ctx, s.read, path, o); err != nil {
		return nil, errors.Join(err, s.read.Close())
	}
	if o.ReadOnly {
		return s, nil
	}
	if err := s.openWriter(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := errors.Join(s.note(), s.openHead(ctx, o.At)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openWriter: synchronous is FULL: a commit is on disk when it returns, also through a power
// loss. NORMAL would save one fsync per commit (measured: 0.4 ms against 0.1 ms
// for a small one, on a virtual disk) of which there is one in five minutes, and
// could lose the operator's last "stop".
func (s *Store) openWriter(ctx context.Context, o Options) error {
	var err error
	if s.write, err = sql.Open("sqlite", dsn(s.path, "rw&_txlock=immediate", "journal_mode(WAL)", "synchronous(FULL)",
		fmt.Sprintf("cache_size(-%d)", cacheKiB), fmt.Sprintf("journal_size_limit(%d)", walLimitBytes))); err != nil {
		return explain(s.path, "open", err)
	}
	s.write.SetMaxOpenConns(1)
	if err := s.write.PingContext(ctx); err != nil {
		return explain(s.path, "open", err)
	}
	return migrate(ctx, s.write, s.path, o)
}

// openReader opens read-only. In a directory where it may not write, SQLite
// cannot make the shared-memory file of the log. Where neither exists no writer
// runs (a writer always has both), and the file can be read as immutable.
func openReader(ctx context.Context, path string, still bool) (*sql.DB, error) {
	mode := "ro"
	if still {
		mode = immutable
	}
	db, err := openReaderAs(ctx, path, mode)
	if err != nil && mode != immutable && absentOrEmpty(path+"-wal") && absentOrEmpty(path+"-shm") && !isDamage(err) {
		db, err = openReaderAs(ctx, path, immutable)
	}
	return db, explain(path, "open", err)
}

const immutable = "ro&immutable=1"

func openReaderAs(ctx context.Context, path, mode string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, mode))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers) // none is closed, and each keeps its bounds
	err = bound(ctx, db)
	var n int
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// bound bounds a value on all of a reader's connections, before they read the schema: the file may be a stranger's.
func bound(ctx context.Context, db *sql.DB) (err error) {
	for range readers {
		c, cerr := db.Conn(ctx)
		if cerr != nil {
			return errors.Join(err, cerr)
		}
		defer func() { err = errors.Join(err, c.Close()) }() // at the end: the next must be another one
		if _, err = driver.Limit(c, lib.SQLITE_LIMIT_LENGTH, maxValue); err != nil {
			return err
		}
	}
	return nil
}

func absentOrEmpty(name string) bool {
	fi, err := os.Stat(name)
	return errors.Is(err, fs.ErrNotExist) || err == nil && fi.Size() == 0
}

func isDamage(err error) bool {
	sentinel, _ := sentinelOf(err)
	return sentinel == ErrDamaged || sentinel == ErrForeign
}

// dsn names the file as a URI, so that a path with '?' or '%' stays a path.
func dsn(path, mode string, pragmas ...string) string {
	u := url.URL{Scheme: "file", Path: path}
	s := u.String() + "?mode=" + mode + "&_dqs=0&_defensive=1" +
		fmt.Sprintf("&_pragma=busy_timeout(%d)", busyTimeout.Milliseconds())
	for _, p := range append(pragmas, "trusted_schema(0)") {
		s += "&_pragma=" + p
	}
	return s
}

// useOFDLocks: see the package's trap. A file system that refuses them leaves
// SQLite with its default, which is right for every process that obeys the trap.
var useOFDLocks = sync.OnceFunc(func() { _, _ = driver.OFDLocking(true) })

// Path is the file's absolute path.
func (s *Store) Path() string { return s.path }

// Close ends the store. The last writer to close copies the log into the file.
func (s *Store) Close() error {
	err := s.read.Close() // first: a writer that closes last may remove the log
	if s.write != nil {
		err = errors.Join(err, s.write.Close())
	}
	return explain(s.path, "close", errors.Join(err, s.closeHead()))
}

func (s *Store) refuseWrite(what string) error {
	return fmt.Errorf("%s in store %s: %w", what, s.path, ErrReadOnly)
}

// Shrink frees the memory of pages that the last commits and scans left.
func (s *Store) Shrink(ctx context.Context) error {
	if s.write == nil {
		return s.refuseWrite("shrink")
	}
	_, err := s.write.ExecContext(ctx, "PRAGMA shrink_memory")
	return explain(s.path, "free memory", err)
}
