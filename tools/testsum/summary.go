package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
)

// event is one line of test2json (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// key names a test, or a whole package when test is empty.
type key struct{ pkg, test string }

type summary struct {
	passed, failed, skipped, packages int

	output  map[key][]string
	running map[key]bool   // started and not finished
	good    map[key]bool   // passed
	bad     map[string]int // failed tests of a package
	reasons map[string]int // why skipped -> how many
	reports []report
	flaky   []string // a line for each test that passed on its second run only
	slow    []event  // ends of tests that took slowS or more
}

// report is a failed test's output; the go command's own output has no key.
type report struct {
	key
	text    string
	crashed bool // more than a test failed: others of its package may not have run
}

func newSummary() *summary {
	return &summary{output: map[key][]string{}, running: map[key]bool{}, good: map[key]bool{}, bad: map[string]int{}, reasons: map[string]int{}}
}

// slowS seconds are a test's whose time is worth a line: CI has an hour on two CPUs.
const slowS = 30

func (s *summary) line(b []byte) {
	var e event
	if json.Unmarshal(b, &e) != nil || e.Action == "" {
		s.reports = append(s.reports, report{text: string(b) + "\n"}) // the go command itself speaks plain text
		return
	}
	k := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		k = key{strings.Fields(e.ImportPath + " ?")[0], ""}
		s.output[k] = append(s.output[k], e.Output)
	case "output":
		s.output[k] = append(s.output[k], e.Output)
	case "run":
		s.running[k] = true
	case "pass", "fail", "skip":
		if e.Elapsed >= slowS && e.Test != "" && !strings.Contains(e.Test, "/") {
			s.slow = append(s.slow, e)
		}
		s.end(k, e.Action)
	}
}

func (s *summary) end(k key, action string) {
	delete(s.running, k)
	if k.test == "" {
		s.endPackage(k, action)
		return
	}
	switch action {
	case "pass":
		s.passed++
		s.good[k] = true
	case "skip":
		s.skipped++
		s.reasons[reason(s.output[k])]++
	case "fail":
		s.fail(k)
	}
	delete(s.output, k)
}

// endPackage counts what has no event of its own: a benchmark that ran, a broken build, a
// panic or a timeout that ended the process in the middle of a test.
func (s *summary) endPackage(k key, action string) {
	s.packages++
	for r := range s.running {
		if r.pkg != k.pkg {
			continue
		}
		delete(s.running, r)
		if action == "fail" {
			s.crash(r)
		} else {
			s.passed++
		}
	}
	if action == "fail" && s.bad[k.pkg] == 0 {
		s.crash(k)
	}
	delete(s.output, k)
}

func (s *summary) fail(k key) {
	s.failed++
	s.bad[k.pkg]++
	s.reports = append(s.reports, report{key: k, text: fmt.Sprintf("FAIL %s %s\n%s", k.pkg, k.test, strings.Join(s.output[k], ""))})
}

// crash is the failure of more than a test.
func (s *summary) crash(k key) {
	s.fail(k)
	s.reports[len(s.reports)-1].crashed = true
}

// failures names what failed, with the ends of its log, for the end of a run's output: often that is all of it that is kept.
func (s *summary) failures() string {
	var said []string
	for _, r := range s.reports {
		if r.pkg != "" {
			said = append(said, strings.ReplaceAll(fmt.Sprintf("%s %s (%s)", path.Base(r.pkg), r.test, ends(r.text)), "\t", " "))
		}
	}
	return strings.Join(said, ", ")
}

// logLine is what t.Log and t.Skip print: "    file_test.go:12: text".
var logLine = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)\n?$`)

func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if m := logLine.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return "no reason given"
}

func (s *summary) print(w io.Writer, tier string) {
	for _, r := range s.reports {
		fmt.Fprint(w, r.text)
	}
	fmt.Fprint(w, strings.Join(s.flaky, ""))
	slices.SortFunc(s.slow, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	for _, e := range s.slow {
		fmt.Fprintf(w, "  slow %4.0f s: %s\n", e.Elapsed, e.Test)
	}
	var lines []string
	for why, n := range s.reasons {
		lines = append(lines, fmt.Sprintf("  skipped %3d: %s\n", n, why))
	}
	slices.Sort(lines)
	fmt.Fprint(w, strings.Join(lines, ""))
	fmt.Fprintf(w, "%s: %d packages, %d passed, %d failed, %d skipped, %d flaky\n", tier, s.packages, s.passed, s.failed, s.skipped, len(s.flaky))
}
