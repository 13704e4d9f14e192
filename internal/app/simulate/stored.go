package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/record"
)

// Archive is what a store gives back of its windows.
type Archive interface {
	Heads(ctx context.Context, from, to int64) ([]journal.Head, error)
	Windows(ctx context.Context, from, to int64, row func(*record.Window) error) error
}

// Stored is the windows of a store, as they are in it: what was treated then has no
// control rows in its treatment blocks and is not known there, and a window that was
// marked as unknown stays so. With the rules of then it decides what was decided then.
type Stored struct {
	PoP           string
	WindowSeconds int64
	Archive       Archive
}

// Windows implements Source.
func (s Stored) Windows(ctx context.Context, each func(pop string, in policy.Input) error) error {
	heads, err := s.Archive.Heads(ctx, 0, math.MaxInt64)
	if err != nil {
		return fmt.Errorf("read windows of the store: %w", err)
	}
	var rows []record.Window
	for _, h := range heads {
		if h.Start%s.WindowSeconds != 0 {
			return fmt.Errorf("read windows of the store: window %d: %w", h.Start, ErrWindow)
		}
		rows = rows[:0]
		err := s.Archive.Windows(ctx, h.Start, h.Start+1, func(w *record.Window) error {
			rows = append(rows, *w)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read windows of the store: window %d: %w", h.Start, err)
		}
		in := policy.Input{Start: h.Start, RoundStart: h.Start + s.WindowSeconds, Rows: rows, Unknown: h.Note}
		if err := each(s.PoP, in); err != nil {
			return err
		}
	}
	return nil
}

// ErrWindow: the store was made with windows of another length.
var ErrWindow = errors.New("does not start at a multiple of the policy's window; set window in the policy's file as it was")
