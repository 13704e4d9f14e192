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

const dropV3 = "DROP TABLE v3_windows;"

// columnsV3 of windows, sum included.
const columnsV3 = 23

func step3to4(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, schemaV4); err != nil {
		return err
	}
	if err := copyV3(ctx, tx); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, dropV3)
	return err
}

func copyV3(ctx context.Context, tx *sql.Tx) (err error) {
	insert, err := tx.PrepareContext(ctx, "INSERT INTO windows VALUES "+slots(columnsV3+4, 1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	return scan(ctx, tx, "SELECT * FROM v3_windows ORDER BY start, prefix, arm, cong, carryover, control", nil, func(v3 []any) error {
		_, err := insert.ExecContext(ctx, widened(v3)...)
		return err
	})
}

// widened is a row of schema 3 in schema 4. A damaged row stays one: it gets a
// sum that is wrong, since a right one would vouch for it.
func widened(v3 []any) []any {
	row := append(make([]any, 0, columnsV3+4), v3[:columnsV3-1]...)
	row = append(row, 0.0, 0.0, int64(0), int64(0))
	sum := sumOf("windows", row)
	if checkSum("windows", v3) != nil {
		sum ^= 1
	}
	return append(row, sum)
}
