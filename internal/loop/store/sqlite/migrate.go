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

// A step lifts the schema by one version, inside the migration's transaction.
// Steps are never changed once released, so each carries its own SQL.
var steps = map[int]func(ctx context.Context, tx *sql.Tx) error{
	1: step1to2,
	2: step2to3,
	3: step3to4,
	4: step4to5,
}

// migrate copies an older store aside, proves the copy, and lifts the schema
// step by step in one transaction: it is at the old version or at the new one.
func migrate(ctx context.Context, db *sql.DB, path string, o Options) error {
	v, err := versionOf(ctx, db)
	if err != nil || v == schemaVersion {
		return explain(path, "read version", err)
	}
	if err := backup(ctx, db, path, v, o.At); err != nil {
		return explain(path, "back up before migration", err)
	}
	s := &Store{path: path, write: db}
	err = s.inTx(ctx, func(tx *sql.Tx) error { return lift(ctx, tx, path) })
	return explain(path, fmt.Sprintf("migrate schema %d to %d", v, schemaVersion), err)
}

// lift reads the version again under the write lock: another process may have
// migrated meanwhile.
func lift(ctx context.Context, tx *sql.Tx, path string) error {
	v, err := versionOf(ctx, tx)
	for ; err == nil && v < schemaVersion; v++ {
		if err = steps[v](ctx, tx); err != nil {
			return fmt.Errorf("step %d to %d: %w", v, v+1, err)
		}
	}
	if err != nil {
		return err
	}
	if err := judgeVersion(path, v, false); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
	return err
}

// backup writes PATH.backup-vN-DATE by VACUUM INTO (a consistent copy that includes the
// log), opens and checks it, and only then renames it to that.
func backup(ctx context.Context, db *sql.DB, path string, v int, at time.Time) error {
	final, err := freeName(fmt.Sprintf("%s.backup-v%d-%s", path, v, at.UTC().Format("2006-01-02")))
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".backup-partial-*") // mode 0600, which VACUUM INTO keeps
	if err != nil {
		return err
	}
	tmp := f.Name()
	if err := errors.Join(f.Close(), fillBackup(ctx, db, tmp)); err != nil {
		return errors.Join(err, removeIfThere(tmp))
	}
	if err := os.Rename(tmp, final); err != nil {
		return errors.Join(err, removeIfThere(tmp))
	}
	return syncDir(filepath.Dir(path))
}

func fillBackup(ctx context.Context, db *sql.DB, tmp string) error {
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", tmp); err != nil {
		return err
	}
	if err := verifyBackup(ctx, tmp); err != nil {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func verifyBackup(ctx context.Context, tmp string) (err error) {
	db, err := sql.Open("sqlite", dsn(tmp, "ro&immutable=1"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return quickCheck(ctx, db, tmp)
}

// freeName adds -2, -3 … where a backup of this day is already there: a second
// try after a failed one must not replace the first copy.
func freeName(name string) (string, error) {
	for i := 1; i < 100; i++ {
		try := name
		if i > 1 {
			try = fmt.Sprintf("%s-%d", name, i)
		}
		if _, err := os.Lstat(try); errors.Is(err, fs.ErrNotExist) {
			return try, nil
		}
	}
	return "", fmt.Errorf("name backup: %s and 98 more exist; remove old ones", name)
}
