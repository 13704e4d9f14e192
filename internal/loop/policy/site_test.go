package policy

import (
	"math/rand/v2"
	"testing"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// An edge with 15 slow and 85 healthy networks of a site each, and an attacker with one /48, which
// is 256 networks and costs nothing. Whatever the attacker's level, the slow ones are treated and the
// healthy ones are not. With each network counted alike, 30 slow ones left none of the 15 selected,
// and 256 fast ones had 48 healthy ones selected. By benefit, where all that is slow loses packets one by one, the attacker has no more
// networks on trial at once than one site may.
func TestOneSiteMovesNothing(t *testing.T) {
	slow := func(i int) record.Prefix { return record.Prefix(0x2001_0db8_0000_0000|uint64(i)<<16) | 56 }
	lossy := func(w record.Window) record.Window {
		if w.RateBytesPerS[record.Q50] < 1e6 {
			w.MinRTTUs, w.SRTTUs, w.EligibleRetransBytes = 60_000, 62_000, w.EligibleSentBytes/50
		}
		return w
	}
	for _, attack := range []struct {
		name  string
		n     int
		level float64 // bytes/s
		rule  string
		most  int // of its networks in the plan at once
	}{
		{"none", 0, 0, SelectSlowest, 0}, {"30 slow", 30, 1e4, SelectSlowest, 30}, {"256 slow", 256, 1e4, SelectSlowest, 256},
		{"256 fast", 256, 1e8, SelectSlowest, 0}, {"256 as slow", 256, 1e5, SelectSlowest, 256},
		{"30 lossy", 30, 1e4, SelectBenefit, 10}, {"256 lossy", 256, 1e5, SelectBenefit, 10},
	} {
		r, rng := DefaultRules().ByLevel(), rand.New(rand.NewPCG(1, 9))
		r.Select = attack.rule
		e := New(r, drawn{plan.NewDraws([]byte("an edge under attack, by its salt"), 0, 0)})
		slowTried, healthyTried, attackers := map[record.Prefix]bool{}, map[record.Prefix]bool{}, 0
		for start := int64(noon); start < noon+6*3600; start += r.WindowSeconds {
			var rows []record.Window
			for i := range 100 {
				level := 1e6 * (1 + rng.Float64())
				if i < 15 {
					level = 1e5 * (1 + rng.Float64())
				}
				rows = append(rows, lossy(quiet(start, slow(i), 6, level)))
			}
			for i := range attack.n {
				rows = append(rows, lossy(quiet(start, 0x2001_0db8_ffff_0000|record.Prefix(i)<<8|56, 6, attack.level*(1+rng.Float64()))))
			}
			d, now := e.Round(Input{Start: start, RoundStart: start + r.WindowSeconds, Rows: rows}), 0
			for _, s := range d.Selection {
				switch {
				case s.Prefix.Site() == slow(0xffff).Site():
					now++
				case s.Prefix < slow(15):
					slowTried[s.Prefix] = true
				default:
					healthyTried[s.Prefix] = true
				}
			}
			attackers = max(attackers, now)
		}
		drawn := 0
		if attack.rule == SelectBenefit {
			drawn = 5 // to learn, on a hundredth of the traffic
		}
		t.Logf("%s: %d of 15 slow, %d of 85 healthy, %d of the attacker's at once", attack.name, len(slowTried), len(healthyTried), attackers)
		if len(slowTried) < 13 || len(healthyTried) > drawn || attackers > attack.most {
			t.Errorf("%s: %d of 15 slow networks tried, %d of 85 healthy ones, %d of the attacker's at once", attack.name, len(slowTried), len(healthyTried), attackers)
		}
	}
}
