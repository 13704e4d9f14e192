// Package metricstest reads a page of metrics as strictly as the OpenMetrics text format 1.0 asks for.
//
// It is for tests; Prometheus itself is more lenient.
//
// Its trap: it knows gauges, counters and histograms, which is all that congctl writes.
package metricstest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Family is one metric of a page.
type Family struct {
	Name, Type, Unit, Help string
	Samples                []Sample
}

// Sample is one line of it.
type Sample struct {
	Name, Labels string // labels as written, without braces
	Value        float64
}

var (
	metaLine   = regexp.MustCompile(`^# (TYPE|UNIT|HELP) ([a-z][a-z0-9_]*) (.+)$`)
	sampleLine = regexp.MustCompile(`^([a-z][a-z0-9_]*)(?:\{(.*)\})? (\S+)$`)
	labelList  = regexp.MustCompile(`^[a-z][a-z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"(?:,[a-z][a-z0-9_]*="(?:[^"\\\n]|\\[\\n"])*")*$`)
	suffixes   = map[string][]string{"gauge": {""}, "counter": {"_total"}, "histogram": {"_bucket", "_sum", "_count"}}
)

// Parse returns the families of a page, or its first fault.
func Parse(page []byte) (all []Family, err error) {
	body, ends := strings.CutSuffix(string(page), "# EOF\n")
	if !ends {
		return nil, fmt.Errorf("parse page: it does not end in # EOF")
	}
	names, lines := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if m := metaLine.FindStringSubmatch(line); m != nil {
			all, err = meta(all, names, m[1], m[2], m[3])
		} else {
			err = sample(all, lines, line)
		}
		if err != nil {
			return nil, fmt.Errorf("parse page: %q: %w", line, err)
		}
	}
	return all, nil
}

func meta(all []Family, names map[string]bool, what, name, text string) ([]Family, error) {
	if what == "TYPE" {
		if names[name] || suffixes[text] == nil {
			return nil, fmt.Errorf("a type that is not known, or a second family of this name")
		}
		names[name] = true
		return append(all, Family{Name: name, Type: text}), nil
	}
	if len(all) == 0 || all[len(all)-1].Name != name || len(all[len(all)-1].Samples) > 0 {
		return nil, fmt.Errorf("not at the head of its family")
	}
	f := &all[len(all)-1]
	if what == "HELP" {
		f.Help = text
	} else if f.Unit = text; !strings.HasSuffix(name, "_"+text) {
		return nil, fmt.Errorf("the name does not end in the unit")
	}
	return all, nil
}

func sample(all []Family, lines map[string]bool, line string) error {
	m := sampleLine.FindStringSubmatch(line)
	if m == nil || m[2] != "" && !labelList.MatchString(m[2]) || len(all) == 0 {
		return fmt.Errorf("no sample")
	}
	f := &all[len(all)-1]
	known := false
	for _, s := range suffixes[f.Type] {
		known = known || m[1] == f.Name+s
	}
	v, err := strconv.ParseFloat(m[3], 64)
	switch key := m[1] + "{" + m[2]; {
	case err != nil:
		return err
	case !known:
		return fmt.Errorf("not of family %s, a %s", f.Name, f.Type)
	case lines[key]:
		return fmt.Errorf("a second sample with these labels")
	case f.Type != "gauge" && !(v >= 0):
		return fmt.Errorf("a %s below zero", f.Type)
	default:
		lines[key] = true
	}
	f.Samples = append(f.Samples, Sample{m[1], m[2], v})
	return nil
}
