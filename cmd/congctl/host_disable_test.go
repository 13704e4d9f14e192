package main

import (
	"errors"
	"testing"

	"github.com/congctl/congctl/internal/kernel/change"
	"github.com/congctl/congctl/internal/kernel/enable"
)

// TestDisabledBelowALimit: the message names the command that goes first.
func TestDisabledBelowALimit(t *testing.T) {
	err := disabled(change.Report{}, enable.LimitedError{"eth0", "eth1"}, "sudo congctl host disable")
	var c *coded
	if !errors.As(err, &c) || c.code != exitRefused || c.hint != "sudo congctl shape clear eth0, then the same again" {
		t.Errorf("got %+v", c)
	}
}
