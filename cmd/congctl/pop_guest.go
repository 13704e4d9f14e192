//go:build !small

package main

import (
	"encoding/json"
	"fmt"

	"github.com/congctl/congctl/internal/lab/kernel/world"
	"github.com/congctl/congctl/internal/popday/kernel/popworld"
)

// runGuestJob runs what a guest is asked to: a day of a point of presence, a proof that a
// congestion control works there, or else cells.
func runGuestJob(job []byte, progress func(string)) ([]byte, error) {
	var kind struct {
		Pop    json.RawMessage `json:"pop"`
		Enable string          `json:"enable"`
		Boot   bool            `json:"boot"` // and no more: the machine works
	}
	if err := json.Unmarshal(job, &kind); err != nil {
		return nil, fmt.Errorf("read job: %w", err)
	}
	switch {
	case kind.Boot:
		return nil, nil
	case kind.Enable != "":
		return world.RunProof(job, progress)
	case kind.Pop != nil:
		return popworld.RunJob(job, progress)
	}
	return world.RunJob(job, progress)
}
