package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
)

// Schema 3 had no logarithms of rates and no bytes of the eligible alone.

//go:embed schema_v4.sql
var schemaV4 string

const dropV3 = "DROP TABLE v3_windows;" // of the empty store that a new one begins as

// columnsV3 of windows, sum included.
const columnsV3 = 23

func step3to4(ctx context.Context, tx *sql.Tx) error {
	return widen(ctx, tx, schemaV4, "v3_windows", []any{0.0, 0.0, int64(0), int64(0)})
}

// widen runs a schema that leaves the rows of windows in another table, and moves them from there with
// more columns.
func widen(ctx context.Context, tx *sql.Tx, schema, from string, more []any) error {
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	if err := copyWider(ctx, tx, from, more); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DROP TABLE "+from)
	return err
}

func copyWider(ctx context.Context, tx *sql.Tx, from string, more []any) (err error) {
	var insert *sql.Stmt
	defer func() {
		if insert != nil {
			err = errors.Join(err, insert.Close())
		}
	}()
	return scan(ctx, tx, "SELECT * FROM "+from+" ORDER BY start, prefix, arm, cong, carryover, control", nil, func(old []any) (err error) {
		if insert == nil {
			if insert, err = tx.PrepareContext(ctx, "INSERT INTO windows VALUES "+slots(len(old)+len(more), 1)); err != nil {
				return err
			}
		}
		_, err = insert.ExecContext(ctx, widened(old, more)...)
		return err
	})
}

// widened is a row with more columns. A damaged row stays one: it gets a sum that is wrong, since a
// right one would vouch for it.
func widened(old, more []any) []any {
	row := append(append(make([]any, 0, len(old)+len(more)), old[:len(old)-1]...), more...)
	sum := sumOf("windows", row)
	if checkSum("windows", old) != nil {
		sum ^= 1
	}
	return append(row, sum)
}
