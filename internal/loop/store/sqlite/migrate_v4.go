package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
)

// Schema 4 knew no pacing cap, no goodput over busy time, no episodes of loss and no late rates.

//go:embed schema_v5.sql
var schemaV5 string

const dropV4 = "DROP TABLE v4_windows;"

// columnsV4 of windows, sum included.
const columnsV4 = columnsV3 + 4

func step4to5(ctx context.Context, tx *sql.Tx) error {
	return widen(ctx, tx, schemaV5, "v4_windows", []any{int64(0), 0.0, 0.0, int64(0), int64(0), 0.0, 0.0})
}
