package main

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/goodput/effects"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/policy"
)

// tell prints what the clients saw, and holds it against what must be true.
func (d *demoFleet) tell() {
	t := d.t
	t.Helper()
	now := time.Now()
	var rows [][]string
	for _, pop := range demoPops {
		states := d.states(pop)
		var healthy []float64
		strayed, lost := 0, 0
		for _, n := range d.world.nets {
			if n.pop != pop {
				continue
			}
			lost += n.lost
			cubic, bbr := n.rates("cubic", d.began, now), n.rates("bbr", d.began, now)
			if n.path.Loss == 0 {
				healthy, strayed = append(healthy, cubic...), strayed+len(bbr)
				continue
			}
			before, after := quantile(cubic, .5), quantile(bbr, .5)
			rows = append(rows, []string{pop, prefixOf(t, n.addr).String(), fmt.Sprintf("%.0f %%", 100*n.path.Loss), fmt.Sprintf("%.1f", before), fmt.Sprintf("%.1f", after),
				fmt.Sprintf("x%.1f", after/before), fmt.Sprintf("%d of %d", len(bbr), len(bbr)+len(cubic)), states[n.addr]})
			if len(bbr) < 5 || after < before {
				t.Errorf("%s: %d downloads with BBR, median %.2f Mbit/s; %d with CUBIC, %.2f", n.addr, len(bbr), after, len(cubic), before)
			}
		}
		slices.Sort(healthy)
		rows = append(rows, []string{pop, fmt.Sprintf("%d others", demoNetworks-demoLossy), "0 %", fmt.Sprintf("%.1f", quantile(healthy, .5)), "", "", fmt.Sprintf("%d of %d", strayed, strayed+len(healthy)), "left on CUBIC"})
		if strayed*20 > len(healthy) || lost > 0 {
			t.Errorf("%s: %d downloads of healthy networks ran BBR, %d CUBIC; %d downloads did not end", pop, strayed, len(healthy), lost)
		}
	}
	fmt.Print("\nMedian Mbit/s of the downloads as clients saw them, by the congestion control that the server's kernel ran:\n\n")
	check(t, answer.Table(os.Stdout, "POP NETWORK LOSES CUBIC BBR GAIN ON-BBR CONGCTL", rows))
	fmt.Println()
	for _, pop := range demoPops {
		var e effects.View
		d.ask(pop, &e, "effect", "--since", "10m")
		for _, r := range e.Estimates[0].Ratios {
			if r.Quantile == .1 {
				fmt.Printf("%s: by its control blocks, congctl says x%.1f (%.1f-%.1f) at the 10th percentile of delivery rate\n", pop, r.Ratio, r.Low, r.High)
			}
		}
	}
}

const believedText = "gain believed"

var demoStates = map[policy.State]string{policy.StatePromoted: believedText, policy.StateTrial: "on trial"}

// states is what the controller says of each client network.
func (d *demoFleet) states(pop string) map[netip.Addr]string {
	var rows []control.PrefixRow
	d.ask(pop, &rows, "prefixes")
	said := map[netip.Addr]string{}
	for _, r := range rows {
		for _, n := range d.world.nets {
			if prefixOf(d.t, n.addr) == r.Prefix {
				said[n.addr] = demoStates[r.State]
			}
		}
	}
	return said
}
