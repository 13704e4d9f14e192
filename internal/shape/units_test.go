package shape

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/congctl/congctl/internal/change"
	"pgregory.net/rapid"
)

// Each line of testdata/units is a quantity; the answer is what it means, or why not.
func TestUnits(t *testing.T) {
	datadriven.RunTest(t, "testdata/units", func(_ *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.SplitSeq(d.Input, "\n") {
			fmt.Fprintln(&out, read(d.Cmd, strings.Trim(line, `"`)))
		}
		return out.String()
	})
}

func read(what, text string) string {
	switch what {
	case "rate":
		r, err := ParseRate(text)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s: %s, kernel %d B/s", r, r.Words(), r.BytesPerS())
	case "size":
		s, err := ParseSize(text)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s: %s", s, s.Words())
	}
	q, err := ParseQueue(text)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s: %d bytes, %d ns", q, q.Bytes, q.Time)
}

func TestRateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rate(rapid.Uint64Range(uint64(MinRate), uint64(MaxRate)).Draw(t, "rate"))
		for _, text := range []string{r.String(), r.bytesText()} {
			if got, err := ParseRate(text); err != nil || got != r {
				t.Fatalf("%d is written %s and read %d, %v", r, text, got, err)
			}
		}
	})
}

func TestSizeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Size(rapid.Uint64Range(1, uint64(MaxSize)).Draw(t, "size"))
		if got, err := ParseSize(s.String()); err != nil || got != s {
			t.Fatalf("%d is written %s and read %d, %v", s, s, got, err)
		}
	})
}

// A queue as time holds what the rate sends in it, and the wait shown is the one asked.
func TestQueueOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rate(rapid.Uint64Range(uint64(MinRate), 100e9).Draw(t, "rate")).Kept()
		q := Queue{Time: time.Duration(rapid.Int64Range(1, int64(MaxWait)).Draw(t, "time"))}
		burst := Size(rapid.Uint64Range(1500, 1<<20).Draw(t, "burst"))
		limit, err := q.limit(r, burst)
		if err != nil {
			return
		}
		byte1 := int64(1e9/r.BytesPerS()) + 1 // ns of the byte that is cut off
		if got := Wait(r, limit, burst); int64(q.Time-got) > byte1 || got > q.Time {
			t.Fatalf("asked %s at %s: limit %d waits %s", q.Time, r, limit, got)
		}
		if again, err := ParseQueue(q.String()); err == nil && again != q {
			t.Fatalf("%s is written %s", q.Time, q)
		}
	})
}

// What does not fit is the largest duration, and a queue no longer than its bucket waits for
// nothing.
func TestWaitAtItsBounds(t *testing.T) {
	const most = 1<<63 - 1
	if a, b := mulDiv(1<<32, 1<<32, 1), mulDiv(1<<63, 1, 1); a != most || b != most {
		t.Errorf("overflow: %d and %d, want %d", a, b, uint64(most))
	}
	if a, b := Wait(7, 100, 50), Wait(8e6, 50, 100); a != 0 || b != 0 {
		t.Errorf("waits %s and %s", a, b)
	}
}

func FuzzUnits(f *testing.F) {
	for _, s := range []string{"8Mbit/s", "1mbps", "1", "844ms", "200KiB", "999999999999.999999GB/s", "0.000001s", "1kbit"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := ParseRate(s); err == nil {
			if again, err := ParseRate(r.String()); err != nil || again != r {
				t.Errorf("%q is %s, read again %s, %v", s, r, again, err)
			}
		}
		if q, err := ParseQueue(s); err == nil {
			if again, err := ParseQueue(q.String()); q.Time == 0 && (err != nil || again != q) {
				t.Errorf("%q is %s, read again %s, %v", s, q, again, err)
			}
		}
		if _, err := ParseSize(s); err != nil && !strings.Contains(err.Error(), ";") && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%q: no way out in %q", s, err)
		}
	})
}

func FuzzParseLimit(f *testing.F) {
	f.Add("shaped 1000000 204800 1048576 -")
	f.Add("shaped 1000000 204800 1048576 fq_codel; pfifo c0c70001 100000 09000000")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseLimit(s)
		if err == nil && got.String() != s {
			t.Errorf("%q is read %+v", s, got)
		}
		if Words(change.Egress, change.Text(s)) == "" && s != "" {
			t.Errorf("%q has no words", s)
		}
	})
}
