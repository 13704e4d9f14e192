package main

import (
	"errors"
	"testing"

	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/kernel/bbr"
)

// TestDisabledBelowALimit: the message names the command that goes first.
func TestDisabledBelowALimit(t *testing.T) {
	err := disabled(carry.Report{}, bbr.LimitedError{"eth0", "eth1"}, "sudo congctl host disable")
	if c, ok := errors.AsType[*coded](err); !ok || c.code != exitRefused || c.hint != "sudo congctl shape clear eth0, then run this again" {
		t.Errorf("got %+v", c)
	}
}
