package scenario_test

import (
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/core/scenario"
)

// TestGatesAreThoseOfTheJudge: an exemption from a gate that is none would exempt from
// nothing.
func TestGatesAreThoseOfTheJudge(t *testing.T) {
	if judge := outcome.GateNames(); !slices.Equal(scenario.Gates, judge) {
		t.Errorf("a file may exempt from %q, the judge has %q", scenario.Gates, judge)
	}
}
