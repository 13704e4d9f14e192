package metrics

import (
	"regexp"
	"strings"
	"testing"
)

const wantPlain = `# TYPE congctl_size_bytes gauge
# HELP congctl_size_bytes How large.
congctl_size_bytes 1234567890
# TYPE congctl_lost_total counter
# HELP congctl_lost_total How many were lost, by "reason".
congctl_lost_total{reason="a\\b\"c\nd",pop="ams"} 3
congctl_lost_total{reason="other",pop="ams"} 0
# TYPE congctl_stopped gauge
# HELP congctl_stopped Stopped?
congctl_stopped 1
# TYPE congctl_wait_seconds histogram
# HELP congctl_wait_seconds How long.
congctl_wait_seconds_bucket{le="0.5"} 2
congctl_wait_seconds_bucket{le="1"} 2
congctl_wait_seconds_bucket{le="+Inf"} 3
congctl_wait_seconds_sum 7.75
congctl_wait_seconds_count 3
# TYPE congctl_none gauge
# HELP congctl_none Nothing yet.
`

func TestPlain(t *testing.T) {
	if got := string(Plain(example())); got != wantPlain {
		t.Errorf("got\n%s", got)
	}
}

// plainLine is a line of the format 0.0.4, whose help escapes backslashes and line breaks alone.
var plainLine = regexp.MustCompile(`^(# TYPE \w+ (counter|gauge|histogram)|# HELP \w+ ([^\\]|\\\\|\\n)*|\w+(\{(\w+="([^"\\]|\\["\\n])*",?)+\})? \S+)$`)

// FuzzPlain: whatever texts say, each line is one of the format, and the samples are the same.
func FuzzPlain(f *testing.F) {
	f.Add(`a\b"c`+"\nd", "# TYPE x counter\n", 1.5)
	f.Add(`\"`, `\\"`, -0.0)
	f.Fuzz(func(t *testing.T, help, label string, v float64) {
		var p Page
		p.Counter("congctl_x_total", help).Is(v, "a", label)
		p.Gauge("congctl_y_bytes", help).Is(v)
		page := string(p.Text())
		plain := string(Plain([]byte(page)))
		for line := range strings.Lines(plain) {
			if !plainLine.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Errorf("line %q of\n%s", line, page)
			}
		}
		if got, want := samplesOf(plain), samplesOf(page); got != want {
			t.Errorf("samples\n%s\nwant\n%s", got, want)
		}
	})
}

func samplesOf(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "# ") {
			b.WriteString(line)
		}
	}
	return b.String()
}
