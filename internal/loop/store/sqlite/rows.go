package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// Columns of each table, sum included: the order is the schema's.
var columnsOf = map[string]int{
	"window_heads": 4, "windows": 27, "rounds": 13, "events": 7, "plans": 5, "settings": 3,
}

// conn is what a transaction, a pool and a single connection share.
type conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// put writes one row; columns are all but the sum.
func put(ctx context.Context, c conn, verb, table string, columns ...any) error {
	row := append(columns, sumOf(table, columns))
	_, err := c.ExecContext(ctx, verb+" INTO "+table+" VALUES "+slots(len(row), 1), row...)
	return err
}

// slots is "(?,?,?)", repeated for several rows.
func slots(columns, rows int) string {
	one := "(" + strings.Repeat("?,", columns-1) + "?)"
	return strings.Repeat(one+",", rows-1) + one
}

// each reads whole rows of table, checks their sums, and hands them out. The
// slice is used again for the next row.
func each(ctx context.Context, c conn, table, where string, args []any, row func([]any) error) (err error) {
	rows, err := c.QueryContext(ctx, "SELECT "+table+".* FROM "+where, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make([]any, columnsOf[table])
	targets := make([]any, len(values))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if err := checkSum(table, values); err != nil {
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// blob keeps an empty value apart from NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
