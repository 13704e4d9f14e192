package metrics

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/metrics/metricstest"
)

const wantPage = `# TYPE congctl_size_bytes gauge
# UNIT congctl_size_bytes bytes
# HELP congctl_size_bytes How large.
congctl_size_bytes 1234567890
# TYPE congctl_lost counter
# HELP congctl_lost How many were lost, by \"reason\".
congctl_lost_total{reason="a\\b\"c\nd",pop="ams"} 3
congctl_lost_total{reason="other",pop="ams"} 0
# TYPE congctl_stopped gauge
# HELP congctl_stopped Stopped?
congctl_stopped 1
# TYPE congctl_wait_seconds histogram
# UNIT congctl_wait_seconds seconds
# HELP congctl_wait_seconds How long.
congctl_wait_seconds_bucket{le="0.5"} 2
congctl_wait_seconds_bucket{le="1"} 2
congctl_wait_seconds_bucket{le="+Inf"} 3
congctl_wait_seconds_sum 7.75
congctl_wait_seconds_count 3
# TYPE congctl_none gauge
# HELP congctl_none Nothing yet.
# EOF
`

func example() []byte {
	var p Page
	p.Gauge("congctl_size_bytes", "How large.").Is(1234567890)
	p.Counter("congctl_lost_total", `How many were lost, by "reason".`).
		Is(3, "reason", "a\\b\"c\nd", "pop", "ams").Is(0, "reason", "other", "pop", "ams")
	p.Gauge("congctl_stopped", "Stopped?").On(true)
	h := NewHistogram(0.5, 1)
	for _, v := range []float64{0.5, 0.25, 7} {
		h.Add(v)
	}
	p.Histogram("congctl_wait_seconds", "How long.", h)
	p.Gauge("congctl_none", "Nothing yet.")
	return p.Text()
}

func TestPage(t *testing.T) {
	if got := string(example()); got != wantPage {
		t.Errorf("got\n%s", got)
	}
	all, err := metricstest.Parse(example())
	if err != nil || len(all) != 5 || all[1].Samples[0].Value != 3 || all[4].Help != "Nothing yet." {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestParserIsStrict: what it would let pass, no test would find.
func TestParserIsStrict(t *testing.T) {
	for _, page := range []string{
		"",
		"# TYPE a gauge\n# HELP a x\na 1\n",
		"# TYPE a gauge\na 1\na 2\n# EOF\n",
		"# TYPE a gauge\na 1\n# TYPE a gauge\n# EOF\n",
		"# TYPE a counter\na 1\n# EOF\n",
		"# TYPE a counter\na_total -1\n# EOF\n",
		"# TYPE a gauge\nb 1\n# EOF\n",
		"# TYPE a gauge\na{b=c} 1\n# EOF\n",
		"# TYPE a gauge\na{b=\"c} 1\n# EOF\n",
		"# TYPE a gauge\n# UNIT a bytes\na 1\n# EOF\n",
		"# TYPE a gauge\na 1\n# HELP a late\n# EOF\n",
		"# TYPE a summary\n# EOF\n",
		"a 1\n# EOF\n",
	} {
		if all, err := metricstest.Parse([]byte(page)); err == nil {
			t.Errorf("%q is %+v", page, all)
		}
	}
}

// FuzzLabel: whatever a label has, the page stays one.
func FuzzLabel(f *testing.F) {
	f.Add("a\\b\"c\nd", 1.5)
	f.Add("\xff{}=,", math.Inf(1))
	f.Fuzz(func(t *testing.T, label string, v float64) {
		var p Page
		p.Gauge("congctl_x", label+"x").Is(v, "a", label, "b", "c")
		all, err := metricstest.Parse(p.Text())
		if err != nil || len(all) != 1 || len(all[0].Samples) != 1 || all[0].Samples[0].Value != v && v == v {
			t.Errorf("%+v, %v", all, err)
		}
	})
}
