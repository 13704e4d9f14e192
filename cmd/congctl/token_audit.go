//go:build !small

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/fleet/store/token"
	"github.com/congctl/congctl/internal/loop/control"
)

// A token is made and removed by a verb, which cannot write a store that a running process has. So the process compares
// the tokens with those that it saw last, which a file beside them has: what changed while it did not run is an event, too.

// tokensLook is between two looks: an event is soon enough beside the change itself, which holds from the next request on.
const tokensLook = 5 * time.Second

// tokenAudit tells of tokens that come and go.
type tokenAudit struct {
	file *token.File
	keep func(context.Context, control.Act) bool // false: not now
}

func (a tokenAudit) run(ctx context.Context, fault func(error)) {
	var told string
	repeat(ctx, tokensLook, func() {
		err := a.look(ctx)
		if err != nil && err.Error() != told {
			fault(err)
		}
		told = fmt.Sprint(err)
	})
}

func (a tokenAudit) look(ctx context.Context) error {
	now, err := a.file.List()
	if err != nil {
		return nil // the first request with a token tells of it
	}
	seen := &token.File{Path: a.file.Path + ".seen", Read: a.file.Read}
	was, err := seen.List()
	if err != nil {
		return err
	}
	acts := changesOf(was, now)
	for i := range acts {
		if acts[i].By = a.writer(); !a.keep(ctx, acts[i]) {
			return nil
		}
	}
	if len(acts) == 0 {
		return nil
	}
	if err := os.WriteFile(seen.Path+".new", token.Text(now), 0o600); err != nil {
		return fmt.Errorf("write tokens that were seen: %w", err)
	}
	if err := os.Rename(seen.Path+".new", seen.Path); err != nil {
		return fmt.Errorf("write tokens that were seen: %w", err)
	}
	return nil
}

// writer is the file's owner, who wrote it last.
func (a tokenAudit) writer() string {
	if info, err := os.Stat(a.file.Path); err == nil {
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			return fmt.Sprintf("uid %d", s.Uid)
		}
	}
	return "an unknown user"
}

// changesOf are what a person did to the tokens.
func changesOf(was, now []token.Token) (acts []control.Act) {
	for _, t := range was {
		if !slices.Contains(now, t) {
			acts = append(acts, control.Act{Name: "token remove", Arg: t.Name})
		}
	}
	for _, t := range now {
		if !slices.Contains(was, t) {
			acts = append(acts, control.Act{Name: "token add", Arg: fmt.Sprintf("%s, %s of %s until %s,", t.Name, t.Role, answer.Or(t.PoP, "all PoPs"), answer.Stamp(t.Expires))})
		}
	}
	return acts
}
