package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// conn is what a transaction, a pool and a single connection share.
type conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// put writes one row; columns are all except the sum.
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

// list reads whole rows of table as of makes them.
func list[T any](ctx context.Context, c conn, table, where string, args []any, of func([]any) T) (out []T, err error) {
	err = each(ctx, c, table, where, args, func(row []any) error {
		out = append(out, of(row))
		return nil
	})
	return out, err
}

// each reads whole rows of table, checks their sums, and hands them out as scan does. It ends where they have more
// bytes than the file: a stranger's rows may all have one value's pages.
func each(ctx context.Context, c conn, table, where string, args []any, row func([]any) error) error {
	var left int64
	if err := c.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&left); err != nil {
		return err
	}
	return scan(ctx, c, "SELECT * FROM "+table+" "+where, args, func(values []any) error {
		if left -= sizeOf(values); left < 0 {
			return fmt.Errorf("read %s: %w: its rows have more bytes than the file; %s", table, ErrDamaged, damagedHint)
		}
		if err := checkSum(table, values); err != nil {
			return err
		}
		return row(values)
	})
}

// sizeOf returns the bytes of texts and blobs.
func sizeOf(row []any) (n int64) {
	for _, v := range row {
		switch v := v.(type) {
		case string:
			n += int64(len(v))
		case []byte:
			n += int64(len(v))
		}
	}
	return n
}

// scan hands out what a query returns. The slice is used again for the next row.
func scan(ctx context.Context, c conn, query string, args []any, row func([]any) error) (err error) {
	rows, err := c.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, targets := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
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
