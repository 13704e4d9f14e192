package popreport

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/core/popday"
)

// head says what was run, and what each run is worth.
func head(r *popday.Report) part {
	e := r.Experiment
	p := part{ID: "runs", Title: "What was run", Words: []string{
		fmt.Sprintf("%s under %s, %s %s, %s networks, Linux %s.", duration(r.LengthS), strings.Join(policies(r), ", "),
			plural(len(seeds(r)), "seed"), numbers(seeds(r)), fmt.Sprint(len(r.Networks)), r.Kernel),
		fmt.Sprintf("Windows of %s, blocks of %s, wash-out %s.%s", duration(e.WindowS), duration(e.BlockS), duration(e.WashoutS), compressed(r))}}
	if r.Assumed != "" {
		p.Words = append(p.Words, "The day's text is "+r.Assumed+".")
	}
	p.Tables = []table{runTable(r), mixTable(r), settingTable(r)}
	return p
}

// compressed says by how much the policy's time is.
func compressed(r *popday.Report) string {
	for _, s := range r.Settings {
		if s.Key == "window" {
			return fmt.Sprintf(" Time is compressed: the window is %s instead of %s, and every duration that follows from it is shorter alike.", s.Value, s.Default)
		}
	}
	return ""
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func runTable(r *popday.Report) table {
	t := table{Title: "Runs", Rows: [][]string{{"run", "valid", "CPU busy", "softnet drops", "responses", "large", "not whole"}}}
	for _, l := range r.Runs {
		valid := "yes"
		if !l.Valid {
			valid = "INVALID: " + strings.Join(l.Broken, "; ")
		}
		t.Rows = append(t.Rows, []string{fmt.Sprintf("%s-%d", l.Policy, l.Seed), valid, fmt.Sprintf("%.1f %%", 100*l.BusyShare), fmt.Sprint(l.Softnet),
			fmt.Sprint(l.Responses), fmt.Sprint(l.Large), fmt.Sprint(l.Failed)})
	}
	return t
}

func mixTable(r *popday.Report) table {
	t := table{Title: "Networks", Note: "A designed mix. It says nothing of how many such networks a real edge has.",
		Rows: [][]string{{"class", "networks", "kind", "path"}}}
	for i := range r.Mix {
		c := &r.Mix[i]
		t.Rows = append(t.Rows, []string{c.Name, fmt.Sprint(c.Networks), string(c.Kind), path(c)})
	}
	return t
}

// path in words.
func path(c *popday.Class) string {
	parts := []string{fmt.Sprintf("%g Mbit/s", float64(c.RateBitPerS)/1e6), fmt.Sprintf("%g ms", float64(c.RTTUs)/milli)}
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(c.JitterUs > 0, "jitter %g ms", float64(c.JitterUs)/milli)
	add(c.LossPPM > 0, "%g %% lost", float64(c.LossPPM)/1e4)
	add(!c.Policer, "queue %.0f kB", float64(c.BufferBytes)/1e3)
	add(c.Policer, "policed")
	add(c.SpreadPPM > 0, "rates spread by %g %%", float64(c.SpreadPPM)/1e4)
	add(c.VaryPPM > 0, "rate wanders by %g %%", float64(c.VaryPPM)/1e4)
	add(c.RcvbufBytes > 0, "receive buffer %g kB", float64(c.RcvbufBytes)/1e3)
	add(c.AppBitPerS > 0, "the server hands out %g Mbit/s", float64(c.AppBitPerS)/1e6)
	add(c.Changes > 0, "another path at times")
	return strings.Join(parts, ", ")
}

func settingTable(r *popday.Report) table {
	t := table{Title: "congctl's configuration where it is not the default", Rows: [][]string{{"key", "value", "default", "why"}}}
	for _, s := range r.Settings {
		why := "set by the day"
		if s.Scaled {
			why = "follows from window"
		}
		t.Rows = append(t.Rows, []string{s.Key, s.Value, s.Default, why})
	}
	return t
}

// headline is what the runs found, in two sentences.
func headline(r *popday.Report) []string {
	list := []string{counted(r)}
	for i := range r.Comparison.Policies {
		if p := &r.Comparison.Policies[i]; p.Policy == "loop" && p.Large.P10.Ratio != nil {
			text := fmt.Sprintf("the loop's p10 goodput of large responses is %s times %s's", span(p.Large.P10.Ratio), popday.All(r.Comparison.Default))
			if p.GainShare != nil {
				text += fmt.Sprintf(", %s of %s's gain", percent(p.GainShare), popday.All(r.Comparison.Treatment))
			}
			list = append(list, text)
		}
	}
	return list
}

// counted says how many promises hold.
func counted(r *popday.Report) string {
	count := map[popday.Answer]int{}
	for _, v := range r.Verdicts {
		count[v.Answer]++
	}
	return fmt.Sprintf("%d of %d verdicts are yes, %d no, %d have not enough data", count[popday.Yes], len(r.Verdicts), count[popday.No], count[popday.Unknown])
}

func verdictPart(r *popday.Report) part {
	t := table{Marks: true, Rows: [][]string{{"", "", "must show", "figure"}}}
	for _, v := range r.Verdicts {
		t.Rows = append(t.Rows, []string{string(v.Answer), v.ID, v.Claim, v.Text})
	}
	return part{ID: "verdicts", Title: "Verdicts", Tables: []table{t}, Words: []string{counted(r) + "."}}
}
