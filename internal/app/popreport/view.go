package popreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/popday"
)

// part is a section of every form of the report: words, tables, and on the page figures.
type part struct {
	ID, Title string
	Words     []string
	Tables    []table
	Figures   []figure
}

// table has its heading as first row. A cell with an interval has it behind a space.
type table struct {
	Title string
	Note  string
	Rows  [][]string
	Marks bool // the first column is a verdict's answer
}

// parts of the whole report, in the order in which one asks.
func parts(r *popday.Report) []part {
	return []part{head(r), verdictPart(r), comparisonPart(r), costPart(r), effectPart(r), loopPart(r), eachPart(r)}
}

const (
	mbit  = 1e6 / 8 // bytes/s
	milli = 1e3     // us
)

// rate in Mbit/s.
func rate(bytesPerS float64) string { return fmt.Sprintf("%.2f", bytesPerS/mbit) }

// span is "1.12 [1.08, 1.17]", or "-".
func span(i *popday.Interval) string {
	if i == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", i.Value, i.Low, i.High)
}

// percent of a share with its interval.
func percent(i *popday.Interval) string {
	if i == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f %% [%.0f, %.0f]", 100*i.Value, 100*i.Low, 100*i.High)
}

func bounds(b popday.Bounds) string {
	switch {
	case b.Interval != nil:
		return span(b.Interval)
	case b.Ratio > 0:
		return fmt.Sprintf("%.2f", b.Ratio)
	}
	return "-"
}

// duration as in 2h30m, of whole minutes and seconds.
func duration(s int64) string {
	var b strings.Builder
	for _, u := range []struct {
		seconds int64
		name    string
	}{{3600, "h"}, {60, "m"}, {1, "s"}} {
		if n := s / u.seconds; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
		}
		s %= u.seconds
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}

func policies(r *popday.Report) (names []string) {
	for _, l := range r.Runs {
		if !slices.Contains(names, l.Policy) {
			names = append(names, l.Policy)
		}
	}
	return names
}

func seeds(r *popday.Report) (list []uint64) {
	for _, l := range r.Runs {
		if !slices.Contains(list, l.Seed) {
			list = append(list, l.Seed)
		}
	}
	slices.Sort(list)
	return list
}

func numbers(list []uint64) string {
	text := make([]string, len(list))
	for i, n := range list {
		text[i] = fmt.Sprint(n)
	}
	return strings.Join(text, ", ")
}
