package main

import (
	"strings"
	"testing"
)

// TestLabRunRefusesZeroSeeds: 0 would stand for the scenario's own number.
func TestLabRunRefusesZeroSeeds(t *testing.T) {
	for _, flag := range []string{"--seeds", "--seed"} {
		cmd := newLabRun(new(global))
		cmd.SetArgs([]string{"quick", flag + "=0", "--out", t.TempDir()})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), flag+" 0: use 1 or more") {
			t.Errorf("%s: error %v", flag, err)
		}
	}
}
