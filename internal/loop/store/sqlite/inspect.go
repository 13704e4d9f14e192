package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

const (
	// applicationID marks the file as ours: "cong" in ASCII, at offset 68 of the
	// header (https://www.sqlite.org/fileformat2.html, section 1.3).
	applicationID = 0x636f6e67
	// schemaVersion is SQLite's user_version.
	schemaVersion = 5
	// heapBytes of SQLite suffice for two values of maxValue, twice each. A key of any length, in a stranger's store, is
	// read whole to compare it. It holds for the process, so only where the process does nothing but read.
	heapBytes = 128 << 20
)

var errAbsent = errors.New("no store yet")

var sqliteMagic = []byte("SQLite format 3\x00")

// sniff reads the first 100 bytes itself, because SQLite, opening another application's
// file, may already replay that file's journal. A new store is linked into place whole, so
// its header is right from the start.
func sniff(path string) error {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errAbsent
	case err != nil:
		return fmt.Errorf("open store: %w", err)
	case !fi.Mode().IsRegular():
		return foreign(path, "a "+kindOf(fi.Mode()))
	case fi.Size() == 0:
		return errAbsent
	}
	head, err := readHead(path)
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	return judgeHead(path, head)
}

func readHead(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 100))
}

func judgeHead(path string, head []byte) error {
	switch {
	case len(bytes.Trim(head, "\x00")) == 0:
		return fmt.Errorf("open store %s: %w: the header is all zeros; %s", path, ErrDamaged, damagedHint)
	case !bytes.HasPrefix(head, sqliteMagic):
		return foreign(path, fmt.Sprintf("a file that starts with %q", head[:min(16, len(head))]))
	case len(head) < 100:
		return fmt.Errorf("open store %s: %w: truncated after %d bytes; %s", path, ErrDamaged, len(head), damagedHint)
	}
	if id := binary.BigEndian.Uint32(head[68:]); id != applicationID {
		return foreign(path, fmt.Sprintf("an SQLite file of another application (application_id %#x, ours is %#x)", id, applicationID))
	}
	return nil
}

func foreign(path, found string) error {
	return fmt.Errorf("open store %s: %w: %s; %s", path, ErrForeign, found, foreignHint)
}

func kindOf(m fs.FileMode) string {
	if m.IsDir() {
		return "directory"
	}
	return "special file (" + m.Type().String() + ")"
}

// inspect runs on a read-only connection: closing a writer would copy a log
// into a file that has just been found damaged.
func inspect(ctx context.Context, db *sql.DB, path string, o Options) error {
	if o.ReadOnly {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA hard_heap_limit = %d", heapBytes)); err != nil {
			return explain(path, "bound memory", err)
		}
	}
	v, err := versionOf(ctx, db)
	if err != nil {
		return explain(path, "read version", err)
	}
	if err := judgeVersion(path, v, o.ReadOnly); err != nil {
		return err
	}
	if v == schemaVersion {
		if err := checkSchema(ctx, db, path); err != nil {
			return err
		}
	}
	if o.SkipCheck {
		return nil
	}
	return quickCheck(ctx, db, path)
}

func judgeVersion(path string, v int, readOnly bool) error {
	switch {
	case v > schemaVersion:
		return fmt.Errorf("open store %s: %w: it has schema %d, this congctl reads up to %d; upgrade congctl, or choose another path",
			path, ErrNewer, v, schemaVersion)
	case v < 1:
		return fmt.Errorf("open store %s: %w: schema version %d; %s", path, ErrDamaged, v, damagedHint)
	case v < schemaVersion && readOnly:
		return fmt.Errorf("open store %s: %w: it has schema %d, this congctl reads %d; start \"congctl up\" once, it migrates after a backup",
			path, ErrOlder, v, schemaVersion)
	}
	return nil
}

func versionOf(ctx context.Context, db conn) (v int, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, err
}

// quickCheck reads every page once: structure and column types, not the
// agreement of index and table (integrity_check), which costs a sort more.
func quickCheck(ctx context.Context, db conn, path string) error {
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return explain(path, "check", err)
	}
	if found != "ok" {
		return fmt.Errorf("check store %s: %w: %s; %s", path, ErrDamaged, found, damagedHint)
	}
	return nil
}

// checkSchema compares every table, index and view of ours with a fresh store's.
// What an operator added besides is left alone.
func checkSchema(ctx context.Context, db *sql.DB, path string) error {
	found, err := schemaOf(ctx, db)
	if err != nil {
		return explain(path, "read schema", err)
	}
	want, err := freshSchema()
	for name, sql := range want {
		if found[name] != sql {
			return fmt.Errorf("open store %s: %w: definition of %q differs from schema %d; %s", path, ErrDamaged, name, schemaVersion, damagedHint)
		}
	}
	return err
}

// freshSchema returns the schema of a new store. It is made once: that takes longer than all else in opening a small store.
var freshSchema = sync.OnceValues(func() (schema map[string]string, err error) {
	ctx := context.Background() // the result outlives the call that needs it first
	err = inMemory(ctx, func(c *sql.Conn) (err error) {
		if err = fillEmpty(ctx, c, Options{}); err == nil {
			schema, err = schemaOf(ctx, c)
		}
		return err
	})
	return schema, err
})

func schemaOf(ctx context.Context, c conn) (map[string]string, error) {
	objects := map[string]string{}
	err := scan(ctx, c, "SELECT name, coalesce(sql, '') FROM sqlite_schema", nil, func(row []any) error {
		objects[fmt.Sprint(row[0])] = fmt.Sprint(row[1])
		return nil
	})
	return objects, err
}
