package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/congctl/congctl/internal/lab/outcome"
)

// column is one of the summary's table, the same in the terminal, the page and the
// text: its unit is in its heading.
type column struct {
	head string
	text func(*group, line) string // "" where there is nothing to say
	// keep is the order in which a narrow terminal drops columns, the lowest first.
	keep int
}

const always = 100

var columns = []column{
	{"group", func(g *group, _ line) string { return cmp.Or(g.name, "-") }, always},
	{"arm", func(_ *group, l line) string { return l.Arm }, always},
	{"goodput Mbit/s", goodputText, always},
	{"ratio", measured(1, func(l line) *outcome.Interval { return l.Ratio }), 70},
	{"best", bestText, 80},
	{"theory Mbit/s", theoryText, 50},
	{"verdict", verdictText, 90},
	{"time s", timeText, 40},
	{"queue p95 ms", measured(milli, queueP95), 35},
	{"resent %", measured(cent, func(l line) *outcome.Interval { return l.Retrans }), 30},
	{"Jain", measured(1, jain), 45},
	{"policer %", measured(cent, func(l line) *outcome.Interval { return positive(l.Policer) }), 15},
	{"wire Mbit/s", measured(mbit, wire), 60},
	{"steady Mbit/s", measured(mbit, steady), 10},
	{"runs", func(_ *group, l line) string { return fmt.Sprint(l.Runs) }, 20},
}

// withValues returns the columns that have a value for any row.
func (v *view) withValues() []column {
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		for _, g := range v.Groups {
			for _, l := range g.Rows {
				if c.text(g, l) != "" {
					return false
				}
			}
		}
		return true
	})
}

// measured is a column of numbers: empty in an invalid row.
func measured(unit float64, of func(line) *outcome.Interval) func(*group, line) string {
	return func(_ *group, l line) string {
		if v := of(l); v != nil && valid(l.Row) {
			return span(v, unit)
		}
		return ""
	}
}

func goodputText(_ *group, l line) string {
	if !valid(l.Row) {
		return invalidWord(l.Row)
	}
	return span(l.Goodput, mbit)
}

// steady is left out where the transfer had no steady part.
func steady(l line) *outcome.Interval { return positive(l.Steady) }

func timeText(_ *group, l line) string {
	switch {
	case !valid(l.Row) || l.Completed == nil || !l.sized():
		return ""
	case l.ended():
		return "> " + number(l.Completed.Median/second)
	}
	return span(l.Completed, second)
}

// jain is of several flows only.
func jain(l line) *outcome.Interval {
	if len(l.cell.Flows) < 2 {
		return nil
	}
	return l.Jain
}

// queueP95 is of cells with probes.
func queueP95(l line) *outcome.Interval {
	if l.cell.ProbeUs == 0 {
		return nil
	}
	return l.QueueP95
}

// wire is for cells whose rate is a bucket's: it reads tc's own counter.
func wire(l line) *outcome.Interval {
	if l.cell.Sender.Qdisc != "tbf" && l.cell.Path.Bottleneck != "tbf" && l.cell.Path.Bottleneck != "policer" {
		return nil
	}
	return positive(l.Wire)
}

func positive(v *outcome.Interval) *outcome.Interval {
	if v == nil || v.High <= 0 {
		return nil
	}
	return v
}

func bestText(g *group, l line) string {
	switch {
	case len(g.Rows) < 2 || !g.complete() || !g.best(l):
		return ""
	case g.winner.Arm == "":
		return "tie"
	case g.winner.Note != "": // the intervals overlap, or there are none
		return "best?"
	}
	return "best"
}

func theoryText(_ *group, l line) string {
	switch t := l.Theory; {
	case t == nil || t.HighBitPerS <= 0:
		return ""
	case number(t.LowBitPerS/mbit) == number(t.HighBitPerS/mbit):
		return number(t.HighBitPerS / mbit)
	default:
		return number(t.LowBitPerS/mbit) + "-" + number(t.HighBitPerS/mbit)
	}
}

func verdictText(_ *group, l line) string {
	switch {
	case l.Invalid > 0:
		return "broken: " + brokenGates(l.Row)
	case !valid(l.Row) || l.Theory == nil:
		return ""
	}
	return l.Theory.Verdict
}

// Units for people: those of an access line, a stopwatch and a ping.
const (
	mbit   = 1e6  // bit/s
	second = 1e6  // us
	milli  = 1e3  // us
	cent   = 0.01 // of a share
	kilo   = 1e3  // bytes
)

// number has three significant digits, more than most intervals deserve, at most six
// decimals and no exponent.
func number(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	if err != nil || rounded == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(rounded))))
	return strconv.FormatFloat(rounded, 'f', max(0, min(6, decimals)), 64)
}

// span is "4.87 [4.70, 5.01]": a median and its interval, or the value of a single run.
func span(v *outcome.Interval, unit float64) string {
	if v.Low == v.High {
		return number(v.Median / unit)
	}
	return number(v.Median/unit) + " [" + number(v.Low/unit) + ", " + number(v.High/unit) + "]"
}
