package report

import (
	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/core/stat"
)

// flowRow is one flow of several that shared a bottleneck.
type flowRow struct {
	Class, Arm, Name, Cong  string
	Goodput, Steady, Resent string
}

// flowRows are those of a group's valid cells; none where each has one flow only.
func (f *Folder) flowRows(g *group) (rows []flowRow) {
	for _, l := range g.rows {
		if !valid(l.Row) || len(l.cell.Flows) < 2 {
			continue
		}
		for i, flow := range l.cell.Flows {
			of := func(number func(*outcome.FlowMetrics) float64, unit float64) string {
				return f.flowSpan(l.Cell, i, number, unit)
			}
			rows = append(rows, flowRow{class(l.arm), l.Arm, flow.Name, flow.Cong,
				of(func(m *outcome.FlowMetrics) float64 { return m.GoodputBitPerS }, mbit),
				of(func(m *outcome.FlowMetrics) float64 { return m.SteadyBitPerS }, mbit),
				of(func(m *outcome.FlowMetrics) float64 { return m.RetransShare }, cent)})
		}
	}
	return rows
}

// flowSpan is the median over a cell's runs of one flow's value.
func (f *Folder) flowSpan(cell string, flow int, of func(*outcome.FlowMetrics) float64, unit float64) string {
	var x []float64
	for _, r := range f.Results {
		if r.Cell == cell && r.Metrics != nil && flow < len(r.Metrics.Flows) {
			x = append(x, of(&r.Metrics.Flows[flow]))
		}
	}
	if x == nil {
		return "-"
	}
	return span(fromStat(stat.MedianInterval(x)), unit)
}

func fromStat(i stat.Interval) *outcome.Interval {
	return &outcome.Interval{Median: i.Estimate, Low: i.Low, High: i.High}
}
