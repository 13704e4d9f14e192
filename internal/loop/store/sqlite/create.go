package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// create brings a store into being whole: it is built in memory, written to a
// temporary neighbour, synced, and linked to its name. A crash leaves either no
// store or a complete one, and another process that was faster keeps its own.
func create(ctx context.Context, path string, o Options) error {
	if !absentOrEmpty(path + "-wal") { // from which SQLite would write another store's commits into ours
		return fmt.Errorf("create store %s: the log of a store that is gone is there: put the store back, or start afresh: rm %[1]s-wal", path)
	}
	image, err := emptyImage(ctx, o)
	if err != nil {
		return fmt.Errorf("create store %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create store: %w", err)
	}
	tmp, err := writeBeside(path, image)
	if err != nil {
		return fmt.Errorf("create store %s: %w", path, err)
	}
	if err := errors.Join(putInPlace(tmp, path), removeIfThere(tmp)); err != nil {
		return fmt.Errorf("create store %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// emptyImage is the bytes of a store with no rows. It is not yet in WAL mode:
// the first writer sets that. What older schemas dropped is not in it: an empty page
// of theirs that a disk puts in place of another table's would read as no rows.
func emptyImage(ctx context.Context, o Options) (image []byte, err error) {
	err = inMemory(ctx, func(conn *sql.Conn) error {
		if err := fillEmpty(ctx, conn, o); err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, "VACUUM"); err != nil {
			return err
		}
		return conn.Raw(func(dc any) (err error) {
			image, err = dc.(interface{ Serialize() ([]byte, error) }).Serialize()
			return err
		})
	})
	return image, err
}

// inMemory lends one connection to an empty database that no file holds.
func inMemory(ctx context.Context, do func(*sql.Conn) error) (err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return do(conn)
}

func fillEmpty(ctx context.Context, conn *sql.Conn, o Options) error {
	setup := schemaV2 + schemaV3 + schemaV4 + dropV3 + schemaV5 + dropV4 + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, schemaVersion)
	if _, err := conn.ExecContext(ctx, setup); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, "INSERT INTO meta VALUES ('created_by', ?), ('created', ?)",
		o.CreatedBy, o.At.UTC().Format(time.RFC3339))
	return err
}

func writeBeside(path string, image []byte) (tmp string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(image)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// putInPlace links, because a link never replaces an existing file. It replaces only an
// empty file, in one step.
func putInPlace(tmp, path string) error {
	err := os.Link(tmp, path)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	fi, err := os.Stat(path)
	if err != nil || fi.Size() > 0 {
		return err // another process made it meanwhile: open that one
	}
	return os.Rename(tmp, path)
}

func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
