package pop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestGolden: what a file says, and what a person reads when it is wrong.
//
//	day                the classes
//	world seed=N       the networks, and how much happens in them
//	faults             the error
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			day, err := Parse("a.yml", []byte(d.Input))
			switch {
			case err != nil:
				return err.Error() + "\n"
			case d.Cmd == "world":
				var seed uint64
				d.ScanArgs(t, "seed", &seed)
				return worldText(day, day.World(seed))
			}
			return dayText(day)
		})
	})
}

func dayText(d *Day) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: window %d us, length %d us, end %d us, %s over %s, static %v, faults %v\n", d.Name, d.WindowUs, d.LengthUs, d.EndUs, d.Default, d.Qdisc, d.Static, d.Faults)
	for _, e := range d.Expect {
		fmt.Fprintf(&b, "expect %s of %q: least %s, most %s, above %s\n", e.Measure, e.Of, bound(e.Least), bound(e.Most), bound(e.Above))
	}
	for _, c := range d.Classes {
		fmt.Fprintf(&b, "%s x%d spread %d: %+v\n  vary %+v\n  traffic %+v\n", c.Name, c.Count, c.SpreadPPM, c.Path, c.Vary, c.Traffic)
		if c.Drawn() {
			fmt.Fprintf(&b, "  up to %+v\n", c.Most)
		}
		for _, w := range c.Whens {
			fmt.Fprintf(&b, "  when from %d for %d every %d: %s\n", w.FromUs, w.ForUs, w.EveryUs, whenText(w))
		}
	}
	return b.String()
}

func bound(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

func whenText(w When) (s string) {
	if w.RateBitPerS != nil {
		s += fmt.Sprintf("rate %d ", *w.RateBitPerS)
	}
	if w.RTTUs != nil {
		s += fmt.Sprintf("rtt %d ", *w.RTTUs)
	}
	if w.LossPPM != nil {
		s += fmt.Sprintf("loss %d", *w.LossPPM)
	}
	return strings.TrimSpace(s)
}

func worldText(d *Day, w *World) string {
	var b strings.Builder
	for i, n := range w.Networks {
		sessions, requests, bytes := 0, 0, uint64(0)
		for _, s := range w.Sessions {
			if s.Network == i {
				sessions++
				for _, q := range s.Requests {
					requests++
					bytes += q.Bytes
				}
			}
		}
		fmt.Fprintf(&b, "%s %s/%d: %d bit/s, %d sessions, %d requests, %d bytes\n", n.Prefix, n.Class, n.Number, n.Path.RateBitPerS, sessions, requests, bytes)
		if i := slices.IndexFunc(d.Classes, func(c Class) bool { return c.Name == n.Class }); d.Classes[i].Drawn() {
			fmt.Fprintf(&b, "  %+v, %d bytes of queue\n", n.Path, n.Path.Buffer.Bytes(n.Path.RateBitPerS))
		}
	}
	for _, c := range w.Changes {
		fmt.Fprintf(&b, "at %d: network %d: %d bit/s, %d us, loss %d\n", c.AtUs, c.Network, c.Path.RateBitPerS, c.Path.RTTUs, c.Path.LossPPM)
	}
	return b.String()
}
