package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/congctl/congctl/internal/tcp/record"
)

// putPlan takes the same plan twice (a push that is repeated), but never another
// text under the same serial.
func putPlan(ctx context.Context, tx conn, p *Plan) error {
	if p == nil {
		return nil
	}
	old, err := list(ctx, tx, "plans", "WHERE serial = ?", []any{int64(p.Serial)}, planOf)
	if err != nil {
		return err
	}
	if len(old) == 0 {
		return put(ctx, tx, "INSERT", "plans", int64(p.Serial), p.Created, p.Hash, blob(p.Text))
	}
	if !bytes.Equal(old[0].Text, p.Text) {
		return fmt.Errorf("put plan %d: %w with another text (hash %s, this one %s); raise the serial", p.Serial, ErrExists, old[0].Hash, p.Hash)
	}
	return nil
}

func planOf(r []any) Plan {
	return Plan{Serial: record.PlanID(r[0].(int64)), Created: r[1].(int64), Hash: r[2].(string), Text: r[3].([]byte)}
}

// Plan returns the plan with this serial; ok is false when the store has none.
func (s *Store) Plan(ctx context.Context, serial record.PlanID) (p Plan, ok bool, err error) {
	return s.onePlan(ctx, "WHERE serial = ?", int64(serial))
}

// LatestPlan returns the plan with the highest serial; ok is false when there is none.
func (s *Store) LatestPlan(ctx context.Context) (p Plan, ok bool, err error) {
	return s.onePlan(ctx, "ORDER BY serial DESC LIMIT 1")
}

// Plans returns the last n plans, 0 for all, newest first.
func (s *Store) Plans(ctx context.Context, n int) ([]Plan, error) {
	plans, err := list(ctx, s.read, "plans", "ORDER BY serial DESC LIMIT ?", []any{cmp.Or(n, -1)}, planOf)
	return plans, explain(s.path, "read plans", err)
}

func (s *Store) onePlan(ctx context.Context, where string, args ...any) (Plan, bool, error) {
	plans, err := list(ctx, s.read, "plans", where, args, planOf)
	if err != nil || len(plans) == 0 {
		return Plan{}, false, explain(s.path, "read plan", err)
	}
	return plans[0], true, nil
}
