package main

import (
	"strings"
	"testing"
)

// TestStopIsToldByEveryVerb: whatever a person asks while treatment is stopped, the answer begins with that; JSON has it in status.
func TestStopIsToldByEveryVerb(t *testing.T) {
	s := newStage(t, docsDB(t))
	const banner = "congctl: treatment is stopped: nothing new is treated; undo: congctl resume\n"
	verbs := []string{"prefixes", "explain 203.0.113.0/24", "rounds", "events", "plan show", "plan diff", "plan history", "plan export --format cidr"}
	for _, stopped := range []bool{false, true} {
		if stopped {
			s.congctl(t, command{args: []string{"stop"}})
		}
		for _, verb := range verbs {
			if out := s.congctl(t, command{args: strings.Fields(verb)}); strings.Contains(out, banner) != stopped || s.code != exitOK {
				t.Errorf("%s, stopped %v: exit code %d:\n%s", verb, stopped, s.code, out)
			}
			if out := s.congctl(t, command{args: append(strings.Fields(verb), "-o", "json")}); strings.Contains(out, banner) {
				t.Errorf("%s -o json: %s", verb, out)
			}
		}
	}
}
