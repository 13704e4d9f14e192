package advise

import (
	"strings"
	"testing"
)

func TestMetrics(t *testing.T) {
	for _, c := range []struct {
		noMetrics, noThreshold string
		want                   Verdict
		says                   string
	}{
		{"1", "1", OK, "nothing is remembered"},
		{"1", "", OK, "nothing is remembered"},
		{"0", "1", OK, "threshold is not"},
		{"0", "0", Warn, "threshold of past connections is remembered"},
		{"0", "", Warn, "threshold of past connections is remembered"},
	} {
		f := Metrics(c.noMetrics, c.noThreshold)
		if f.Verdict != c.want || !strings.Contains(f.Fact, c.says) || (f.Fix != "") != (f.Verdict == Warn) {
			t.Errorf("%q, %q: %+v", c.noMetrics, c.noThreshold, f)
		}
	}
}
