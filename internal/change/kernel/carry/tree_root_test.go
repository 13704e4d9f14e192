package carry

import (
	"errors"
	"testing"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

// TestBring: what a link sent through, whatever its origin, is restored to the byte when a
// limit has gone.
func TestBring(t *testing.T) {
	tbf := qdisc.Tbf{RateBytesPerS: qdisc.BytesPerS(10e6), BurstBytes: 3028, LimitBytes: 150_000}
	pfifo := qdisc.Raw{Name: "pfifo", Options: []byte{50, 0, 0, 0}}
	put := func(s qdisc.Spec) func(*testing.T, int) bool {
		return func(t *testing.T, l int) bool { return replace(t, l, root(7), s) }
	}
	for name, prepare := range map[string]func(*testing.T, int) bool{
		"the kernel's default": func(*testing.T, int) bool { return true },
		"netem":                put(qdisc.Netem{LimitPackets: 1000, DelayNs: 10e6, JitterNs: 1e6, LossPPM: 10_000, RateBytesPerS: qdisc.BytesPerS(10e6)}),
		"netem with bursts":    put(qdisc.Netem{LimitPackets: 1_000_000, DelayNs: 25e6, Gilbert: &qdisc.Gilbert{P: 10_000, R: 100_000, LossBad: 900_000, LossGood: 1_000}}),
		"tbf":                  put(tbf),
		"fast tbf":             put(qdisc.Tbf{RateBytesPerS: qdisc.BytesPerS(40e9), BurstBytes: 65_536, LimitBytes: 1_500_000}),
		"fq":                   put(qdisc.Fq{LimitPackets: 500}),
		"fq without pacing":    put(qdisc.Fq{NoPacing: true}),
		"fq_codel":             put(qdisc.FqCodel{LimitPackets: 100, ECN: true}),
		"pfifo":                put(pfifo),
		"pfifo below tbf": func(t *testing.T, l int) bool {
			below := qdisc.At{Parent: qdisc.Child(qdisc.Handle(7)), Handle: qdisc.Handle(2)}
			return replace(t, l, root(7), tbf) && replace(t, l, below, pfifo)
		},
	} {
		t.Run(name, func(t *testing.T) {
			withLink(t, 1, func(t *testing.T, index int) {
				if prepare(t, index) {
					limitAndBring(t, index)
				}
			})
		})
	}
}

func limitAndBring(t *testing.T, index int) {
	t.Helper()
	err := onLink("a", func(c *qdisc.Conn, _ int) error {
		before, err := ReadTree(c, index)
		limit := qdisc.Tbf{RateBytesPerS: 1e6, BurstBytes: 3028, LimitBytes: 100_000}
		err = errors.Join(err, c.Replace(qdisc.At{Link: index, Parent: qdisc.Root, Handle: qdisc.Handle(0xc0c7)}, limit))
		got, e := c.Get(index, qdisc.Handle(0xc0c7))
		if read, e2 := qdisc.ReadTbf(got.Options); read != limit {
			t.Errorf("read %+v, %v, %v, want %+v", read, e, e2, limit)
		}
		err = errors.Join(err, Bring(c, index, before))
		after, e := ReadTree(c, index)
		if b, a := change.Tree(before), change.Tree(after); a != b {
			t.Errorf("before %s\nafter  %s", b.Text, a.Text)
		}
		return errors.Join(err, e)
	})
	if err != nil {
		t.Error(err)
	}
}
