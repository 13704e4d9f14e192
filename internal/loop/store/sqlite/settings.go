package sqlite

import (
	"context"
	"maps"
	"slices"
)

// Setting returns the value under key; ok is false when it was never set.
func (s *Store) Setting(ctx context.Context, key string) (value []byte, ok bool, err error) {
	err = each(ctx, s.read, "settings", "WHERE key = ?", []any{key}, func(r []any) error {
		value, ok = r[1].([]byte), true
		return nil
	})
	return value, ok, explain(s.path, "read setting "+key, err)
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
