package main

import (
	"strings"
	"testing"
)

// TestLabRunRefusesZeroSeeds: 0 would stand for the scenario's own number.
func TestLabRunRefusesZeroSeeds(t *testing.T) {
	cmd := newLabRun(new(global))
	cmd.SetArgs([]string{"quick", "--seeds=0", "--out", t.TempDir()})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "--seeds 0: use 1 or more") {
		t.Errorf("error %v", err)
	}
}
