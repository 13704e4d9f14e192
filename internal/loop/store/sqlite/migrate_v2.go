package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
)

// Schema 2 had one row for each prefix, arm, congestion control and carry-over.
// No column changes, so every row keeps its sum.

//go:embed schema_v3.sql
var schemaV3 string

func step2to3(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, schemaV3)
	return err
}
