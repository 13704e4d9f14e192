package popdaytest

import (
	"cmp"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// windows are the rows that a store would have: one for each network, window and arm.
func (m *imagining) windows() {
	for k, rates := range m.rates {
		m.run.Windows = append(m.run.Windows, row(k, rates))
	}
	slices.SortFunc(m.run.Windows, func(a, b record.Window) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Arm, b.Arm))
	})
	rows := map[int64]int{}
	for _, w := range m.run.Windows {
		rows[w.Start]++
	}
	for at := int64(0); at < int64(m.day.EndUs/1e6); at += windowS {
		m.run.Heads = append(m.run.Heads, journal.Head{Start: Began + at, Rows: rows[Began+at]})
	}
}

func row(k windowKey, rates []float64) record.Window {
	slices.Sort(rates)
	n := float64(len(rates))
	w := record.Window{Start: k.start, Prefix: k.prefix, Arm: k.arm, Cong: "cubic", Control: k.arm != record.ArmTreatment, Washout: k.arm != record.ArmNone && k.start%blockS == 0,
		Conns: uint32(n), Eligible: uint32(n), MinRTTUs: 50_000, SRTTUs: 60_000, EligibleSentBytes: uint64(n) * 200_000, EligibleRetransBytes: uint64(n) * 4_000}
	for i, q := range record.RateQuantiles {
		w.RateBytesPerS[i] = stat.Sorted(rates, q)
	}
	for _, v := range rates {
		w.LogRateMean += math.Log(v) / n
	}
	for _, v := range rates {
		w.LogRateVar += (math.Log(v) - w.LogRateMean) * (math.Log(v) - w.LogRateMean) / n
	}
	return w
}
