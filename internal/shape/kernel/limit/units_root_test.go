package limit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/shape"
)

// bucketOfTC has tc put a bucket, and reads it as the kernel has it.
func bucketOfTC(t *testing.T, p pair, words string) (b shape.Tbf) {
	t.Helper()
	mustShell(t, p.a, "tc qdisc replace dev a root handle 7: tbf burst 20000 "+words)
	in(t, p.a, func() error {
		l, err := Read("a")
		if err == nil {
			b = *l.Root.Tbf
		}
		return err
	})
	return b
}

// What tc and congctl both take means the same rate, and the same wait, to the kernel.
func TestUnitsAreAsOfTC(t *testing.T) {
	p := newPair(t)
	for _, text := range []string{"100mbit", "100Mbit", "100MBIT", "1.5mbit", "1000001bit", "100kbit", "10Kbit", "2gbit", "40gbit", "1tbit",
		"16kibit", "1mibit", "1Gibit", "1MBps", "1.5kBps", "64KiBps", "3MiBps", "1GBps"} {
		ours, err := shape.ParseRate(text)
		if tc := bucketOfTC(t, p, "limit 100000 rate "+text); err != nil || ours.Kept() != tc.Rate {
			t.Errorf("%s: %s to congctl (%v), %s to tc", text, ours.Kept(), err, tc.Rate)
		}
	}
	for _, text := range []string{"400ms", "400msec", "250000us", "250000usecs", "1s", "1.5sec", "2SECS"} {
		q, err := shape.ParseQueue(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		ours := target(t, p.a, shape.Ask{Rate: 8e6, Burst: 20000, Queue: q, Replace: true}).Tbf
		if tc := bucketOfTC(t, p, "rate 8mbit latency "+text); ours.Limit != tc.Limit {
			t.Errorf("%s: limit %s to congctl, %s to tc", text, ours.Limit, tc.Limit)
		}
	}
}

// What congctl refuses as ambiguous it tells as tc reads it.
func TestAmbiguousUnitsTellOfTC(t *testing.T) {
	p := newPair(t)
	for _, text := range []string{"1000000", "1mbps", "1Mbps", "64kbps", "64kibps", "10000bps", "100KBps"} {
		_, err := shape.ParseRate(text)
		tc := bucketOfTC(t, p, "limit 100000 rate "+text).Rate
		if says := fmt.Sprintf(" %d bit/s", tc); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s is%s to tc: %v", text, says, err)
		}
	}
	for _, text := range []string{"200kb", "200K", "1mbit", "1m"} {
		_, err := shape.ParseSize(text)
		tc := bucketOfTC(t, p, "rate 8mbit limit "+text).Limit
		if says := fmt.Sprintf("%d bytes", tc); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s is %s to tc: %v", text, says, err)
		}
	}
}

// Any rate that the verb takes can be set with what it computes, and is read back.
func TestFastRates(t *testing.T) {
	p, h := newPair(t), newTestHost(t)
	for _, rate := range []shape.Rate{343e9, 344e9, 400e9, 800e9, shape.MaxRate} {
		r := ask(rate)
		r.Ask.Ingress = rate
		setOrSkip(t, p, h, r)
		in(t, p.a, func() error {
			v, err := h.View("a")
			if err == nil && (v.Egress.RateBitPerS != uint64(rate) || v.Ingress.RateBitPerS != uint64(rate) || len(v.Warnings) > 0) {
				t.Errorf("%s: %+v, %+v, %q", rate, v.Egress, v.Ingress, v.Warnings)
			}
			return err
		})
	}
}
