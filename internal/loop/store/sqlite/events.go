package sqlite

import (
	"context"

	"github.com/congctl/congctl/internal/core/record"
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

// AddEvents writes events that belong to no round. IDs given are ignored.
func (s *Store) AddEvents(ctx context.Context, events ...Event) error {
	return s.CommitRound(ctx, &Commit{Events: events})
}

// Events gives the last n events of a prefix, or of all when p is 0, newest first.
func (s *Store) Events(ctx context.Context, p record.Prefix, n int) (events []Event, err error) {
	where, args := "events ORDER BY id DESC LIMIT ?", []any{n}
	if p != 0 {
		where, args = "events WHERE prefix = ? ORDER BY id DESC LIMIT ?", []any{int64(p), n}
	}
	err = each(ctx, s.read, "events", where, args, func(r []any) error {
		events = append(events, Event{ID: r[0].(int64), At: r[1].(int64), Kind: r[2].(string),
			Prefix: record.Prefix(r[3].(int64)), Text: r[4].(string), Evidence: []byte(r[5].(string))})
		return nil
	})
	return events, explain(s.path, "read events", err)
}
