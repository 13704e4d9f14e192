package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestParsePolicy: the same rules from a section alone, from a configuration that has
// only the section, and from a whole one.
func TestParsePolicy(t *testing.T) {
	want := Default()
	want.Policy.MinSamples, want.Policy.LookbackSeconds, want.Policy.Guards.LowRTT = 3, 900, false
	want.derive()
	for name, text := range map[string]string{
		"section":       "min_samples: 3\nlookback: 15m\nguards: {low_rtt: false}\n",
		"configuration": "policy:\n  min_samples: 3\n  lookback: 15m\n  guards:\n    low_rtt: false\n",
		"whole":         "window: 5m\npolicy: {min_samples: 3, lookback: 15m, guards: {low_rtt: false}}\nplan: {max: 500}\n",
	} {
		got, err := ParsePolicy([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", name, err, got, want)
		}
	}
	for _, text := range []string{"", "# nothing\n", "{}\n"} {
		got, err := ParsePolicy([]byte(text))
		if err != nil || got.Window != 5*time.Minute || got.Policy.MinSamples != Default().Policy.MinSamples {
			t.Errorf("%q: %v, %+v", text, err, got)
		}
	}
}

func TestParsePolicyRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"min_sample: 3\n":                       "line 1: policy.min_sample: unknown key; did you mean min_samples?",
		"min_samples: 3\nguards: {rtt: 1}\n":    "line 2: policy.guards.rtt: unknown key",
		"min_samples: 3\nguards: {never: []}\n": "line 2: policy.guards.never: not a key of its own; set treatment.never",
		"min_samples: 3\nwindow: 2m\n":          "line 1: min_samples: unknown key", // keys of both
		"min_samples: 0\n":                      `line 1: policy.min_samples: "0": out of bounds`,
		"min_samples: 3\nmin_samples: 4\n":      "set twice, first in line 1",
		"- min_samples\n":                       "line 1: not a mapping",
		"group_share: 0.2\nmax_selected: 10\n":  "line 2: policy.max_selected: not a key of its own; set plan.max",
	} {
		if _, err := ParsePolicy([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\ngot  %v\nwant %s", text, err, want)
		}
	}
}
