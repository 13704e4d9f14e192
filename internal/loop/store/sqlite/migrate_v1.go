package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Schema 1 kept prefixes as text, had no checksums, knew neither carry-over nor
// wash-out, marked a window only when something was wrong with it, and had no
// boundary or refusals in its rounds. Its windows were all measured without a
// treatment, so both flags are false.

//go:embed schema_v2.sql
var schemaV2 string

const asideV1 = `
DROP INDEX IF EXISTS events_prefix;
ALTER TABLE windows  RENAME TO v1_windows;
ALTER TABLE notes    RENAME TO v1_notes;
ALTER TABLE rounds   RENAME TO v1_rounds;
ALTER TABLE events   RENAME TO v1_events;
ALTER TABLE plans    RENAME TO v1_plans;
ALTER TABLE settings RENAME TO v1_settings;
ALTER TABLE meta     RENAME TO v1_meta;
`

const dropV1 = `
INSERT INTO meta SELECT key, value FROM v1_meta;
DROP TABLE v1_windows; DROP TABLE v1_notes; DROP TABLE v1_rounds; DROP TABLE v1_events;
DROP TABLE v1_plans; DROP TABLE v1_settings; DROP TABLE v1_meta;
`

func step1to2(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, asideV1+schemaV2); err != nil {
		return fmt.Errorf("rename old tables: %w", err)
	}
	for _, c := range copiesV1 {
		if err := copyRows(ctx, tx, c); err != nil {
			return fmt.Errorf("copy %s: %w", c.table, err)
		}
	}
	_, err := tx.ExecContext(ctx, dropV1)
	return err
}

// copyV1 fills one table: from selects its columns without the sum; prefix is the index of
// the one that is a prefix as text, or -1.
type copyV1 struct {
	table, from string
	prefix      int
}

var copiesV1 = []copyV1{
	{"window_heads", `SELECT start, (SELECT count(*) FROM v1_windows w WHERE w.start = s.start),
		coalesce((SELECT reason FROM v1_notes n WHERE n.start = s.start), '')
		FROM (SELECT start FROM v1_windows UNION SELECT start FROM v1_notes) s`, -1},
	{"windows", `SELECT start, prefix, arm, cong, 0, control, 0, conns, eligible, rate_means, bytes, rate_p05, rate_p10,
		rate_p20, rate_p50, rate_p80, min_rtt_us, srtt_us, retrans_share, rwnd_share, busy_share, app_limited_share
		FROM v1_windows`, 1},
	{"rounds", `SELECT round_start, window, known, ranked, in_group, selected, new, released, 0, 0.0, note, selection FROM v1_rounds`, -1},
	{"events", `SELECT id, at, kind, prefix, text, evidence FROM v1_events`, 3},
	{"plans", `SELECT serial, created, hash, CAST(text AS BLOB) FROM v1_plans`, -1},
	{"settings", `SELECT key, CAST(value AS BLOB) FROM v1_settings`, -1},
}

func copyRows(ctx context.Context, tx *sql.Tx, c copyV1) error {
	return scan(ctx, tx, c.from, nil, func(values []any) error {
		if err := fixPrefix(values, c.prefix); err != nil {
			return err
		}
		return put(ctx, tx, "INSERT", c.table, slices.Clone(values)...)
	})
}

func fixPrefix(values []any, i int) error {
	if i < 0 {
		return nil
	}
	text, _ := values[i].(string)
	if text == "" {
		values[i] = int64(0) // an event of no prefix
		return nil
	}
	p, err := record.ParsePrefix(text)
	values[i] = int64(p)
	return err
}
