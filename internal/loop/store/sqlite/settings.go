package sqlite

import (
	"context"
	"maps"
	"slices"
)

// Setting returns the value under key; ok is false when it was never set. It reads all of them, which
// are few: in a page of another table that a disk put in place of theirs a search finds nothing, and
// only the sums show it.
func (s *Store) Setting(ctx context.Context, key string) (value []byte, ok bool, err error) {
	err = each(ctx, s.read, "settings", "", nil, func(r []any) error {
		if r[0] == key {
			value, ok = r[1].([]byte), true
		}
		return nil
	})
	return value, ok, explain(s.path, "read setting "+key, err)
}

// Settings returns all that were set.
func (s *Store) Settings(ctx context.Context) (map[string][]byte, error) {
	all := map[string][]byte{}
	err := each(ctx, s.read, "settings", "WHERE key != ?", []any{settingChain}, func(r []any) error {
		all[r[0].(string)] = r[1].([]byte)
		return nil
	})
	return all, explain(s.path, "read settings", err)
}

// SetSetting writes one value; it is on disk when this returns. nil deletes it.
func (s *Store) SetSetting(ctx context.Context, key string, value []byte) error {
	return s.CommitRound(ctx, &Commit{Settings: map[string][]byte{key: value}})
}

func putSettings(ctx context.Context, tx conn, settings map[string][]byte) error {
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if err := putSetting(ctx, tx, key, settings[key]); err != nil {
			return err
		}
	}
	return nil
}

func putSetting(ctx context.Context, tx conn, key string, value []byte) error {
	if value == nil {
		_, err := tx.ExecContext(ctx, "DELETE FROM settings WHERE key = ?", key)
		return err
	}
	return put(ctx, tx, "REPLACE", "settings", key, value)
}
