package sqlite

import (
	"cmp"
	"context"
	"strings"

	"github.com/congctl/congctl/internal/tcp/record"
)

func putEvents(ctx context.Context, tx conn, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	var id int64
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM events").Scan(&id); err != nil {
		return err
	}
	for _, e := range events {
		id++
		if err := put(ctx, tx, "INSERT", "events", id, e.At, e.Kind, int64(e.Prefix), e.Text, string(e.Evidence)); err != nil {
			return err
		}
	}
	return nil
}

// Events returns the last n events, 0 for all, of a prefix, or of all when p is 0, and of the kinds, or
// of all when there are none, newest first.
func (s *Store) Events(ctx context.Context, p record.Prefix, n int, kinds ...string) ([]Event, error) {
	where, args := "WHERE true", []any{}
	if p != 0 {
		where, args = where+" AND prefix = ?", append(args, int64(p))
	}
	if len(kinds) > 0 {
		where += " AND kind IN (?" + strings.Repeat(", ?", len(kinds)-1) + ")"
	}
	for _, k := range kinds {
		args = append(args, k)
	}
	events, err := list(ctx, s.read, "events", where+" ORDER BY id DESC LIMIT ?", append(args, cmp.Or(n, -1)), eventOf)
	return events, explain(s.path, "read events", err)
}

func eventOf(r []any) Event {
	return Event{ID: r[0].(int64), At: r[1].(int64), Kind: r[2].(string), Prefix: record.Prefix(r[3].(int64)), Text: r[4].(string),
		Evidence: []byte(r[5].(string))}
}
