package popreport

import (
	_ "embed" // the template
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/popday"
)

// part is a section of every form of the report: words, tables, and on the page figures.
type part struct {
	ID, Title string
	Words     []string
	Tables    []table
	Figures   []figure
}

// table has its heading as first row. A cell's interval follows it after a space.
type table struct {
	Title string
	Note  string
	Rows  [][]string
	First bool // below the picture: on a telephone each row is a list
}

//go:embed report.tmpl
var reportText string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"all": popday.All, "bounds": bounds, "clock": popday.Clock, "duration": duration, "list": numbers, "path": path, "percent": percent, "plural": plural,
	"rate": rate, "span": span, "word": word, "left": left, "refused": refused, "truth": truthCells, "answered": answered, "goodput": goodputCells,
	"hundredths": hundredths, "neighbours": neighbours, "selects": selects, "long": longS, "vain": vain, "longHarmed": longHarmed, "several": several,
	"label": func(v view, e popday.Effect) string { return effectLabel(v.Report, &e) }, "line": line, "drawnPolicies": drawnPolicies, "beside": drawnRatios,
	"share":      func(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) },
	"seconds":    func(v float64) int64 { return int64(v) },
	"per":        func(v, by float64) float64 { return v / by },
	"mb":         func(bytes uint64) string { return fmt.Sprintf("%.1f", float64(bytes)/1e6) },
	"join":       func(list []string) string { return strings.Join(list, ", ") },
	"semicolons": func(list []string) string { return strings.Join(list, "; ") },
	"oneLine":    func(s string) string { return strings.Join(strings.Fields(s), " ") },
}).Parse(reportText))

// view is the report as the template sees it.
type view struct {
	*popday.Report
	Policies      []string
	Seeds         []uint64
	FromFirstByte bool // the loop switches before a response is large
}

// parts of the whole report, in the order in which a reader asks.
func parts(r *popday.Report) ([]part, error) {
	var b strings.Builder
	if err := reportTemplate.Execute(&b, view{r, policies(r), seeds(r), r.Experiment.MinBytes < popday.LargeBytes}); err != nil {
		return nil, fmt.Errorf("fill report: %w", err)
	}
	var all []part
	var open *table // the last row's
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSpace(line)
		kind, rest, _ := strings.Cut(line, " ")
		if kind == "##" {
			id, title, _ := strings.Cut(rest, " ")
			all, open = append(all, part{ID: id, Title: title}), nil
			continue
		}
		if line == "" {
			continue
		}
		p := &all[len(all)-1]
		switch {
		case kind == "###", kind == "|" && open == nil:
			p.Tables = append(p.Tables, table{})
			if open = &p.Tables[len(p.Tables)-1]; kind == "###" {
				open.Title = rest
				continue
			}
			fallthrough
		case kind == "|":
			cells := strings.Split(strings.TrimSuffix(rest, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			open.Rows = append(open.Rows, cells)
		case kind == ">":
			open.Note = rest
		case kind[0] == '!':
			p.Figures = append(p.Figures, figures(figureOf(r, kind[1:], rest))...)
		default:
			p.Words, open = append(p.Words, line), nil
		}
	}
	return all, nil
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

// goodputCells are a policy's cells of its quantiles, and of their ratios.
func goodputCells(g popday.Goodput) string {
	return strings.Join([]string{strconv.Itoa(g.Responses), rate(g.P5.BytesPerS), rate(g.P10.BytesPerS), rate(g.P50.BytesPerS),
		span(g.P5.Ratio), span(g.P10.Ratio), span(g.P50.Ratio)}, " | ")
}

// truthCells are the cells beside an estimate's i-th quantile.
func truthCells(e popday.Effect, i int) string {
	if i >= len(e.Truth) {
		return "- | - | -"
	}
	covered := "-"
	if is := e.Truth[i].Covered; is != nil {
		covered = map[bool]string{true: "yes", false: "no"}[*is]
	}
	return span(e.Truth[i].Ratio) + " | " + covered + " | " + span(e.Switched[i].Ratio)
}

// answered counts the expectations with an answer.
func answered(list []popday.Expected, answer string) (n int) {
	for _, e := range list {
		if string(e.Answer) == answer {
			n++
		}
	}
	return n
}

// left says how many networks left the plan, and why.
func left(s popday.Story) string {
	var parts []string
	for _, kind := range []string{"released", "retired", "demoted"} {
		if n := s.Left[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return strings.Join(parts, ", ")
}

// refused names the classes that guards kept out.
func refused(s popday.Story) string {
	var names []string
	for _, f := range s.Refused {
		names = append(names, fmt.Sprintf("%s (%s)", f.Class, f.Guards))
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// duration as in 2h30m.
func duration(s int64) string { return config.FormatDuration(time.Duration(s) * time.Second) }

func plural(word string, n int) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// word returns a congestion control as written in a sentence.
func word(policy string) string { return strings.ToUpper(policy) }

func policies(r *popday.Report) (names []string) {
	for _, p := range r.Comparison.Policies {
		names = append(names, p.Policy)
	}
	return names
}

func seeds(r *popday.Report) (list []uint64) {
	for _, l := range r.Runs {
		list = append(list, l.Seed)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func numbers(list []uint64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}
