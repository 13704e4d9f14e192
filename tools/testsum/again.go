package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// lookAgain runs each failed test again, alone, if no more than limit failed. One that
// passes then counts as passed, and is listed as flaky so that it gets fixed. Nothing is
// forgiven if something else failed as well: a package that does not build, or a crash
// that kept other tests from running.
func (s *summary) lookAgain(limit int, alone func(key) (*summary, error)) error {
	failed, ok := s.failedTests()
	if !ok || len(failed) > limit {
		return nil
	}
	for _, k := range failed {
		second, err := alone(k)
		if err != nil {
			return fmt.Errorf("run %s %s again: %w", k.pkg, k.test, err)
		}
		if second.failed > 0 || !second.good[k] {
			s.reports = append(s.reports, report{text: fmt.Sprintf("the second run of %s %s:\n", k.pkg, k.test)})
			s.reports = append(s.reports, second.reports...)
			continue
		}
		s.forgive(k)
	}
	return nil
}

// runAlone is `go test` of one test; its events show a failure.
func runAlone(k key) (*summary, error) {
	cmd := exec.Command("go", "test", "-json", "-count=1", "-run", "^"+k.test+"$", k.pkg)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		return nil, err
	}
	return read(bytes.NewReader(out))
}

// failedTests are those that failed, by the name that -run takes; not ok if
// anything failed that is no test.
func (s *summary) failedTests() (tests []key, ok bool) {
	for _, r := range s.reports {
		if r.crashed {
			return nil, false
		}
		if k := r.top(); k.test != "" && !slices.Contains(tests, k) {
			tests = append(tests, k)
		}
	}
	return tests, true
}

// top is the test that a subtest belongs to.
func (k key) top() key {
	name, _, _ := strings.Cut(k.test, "/")
	return key{k.pkg, name}
}

// forgive counts a test and its subtests as passed.
func (s *summary) forgive(k key) {
	var said []string
	s.reports = slices.DeleteFunc(s.reports, func(r report) bool {
		if r.top() != k {
			return false
		}
		said = append(said, r.text)
		s.failed--
		s.passed++
		return true
	})
	s.flaky = append(s.flaky, fmt.Sprintf("flaky: %s %s (first run: %s)\n", k.pkg, k.test, ends(strings.Join(said, ""))))
}

// ends returns the start and the end of a test's log, in one line.
func ends(output string) string {
	const most = 5 // of each
	var lines []string
	for line := range strings.Lines(output) {
		if m := logLine.FindStringSubmatch(line); m != nil {
			lines = append(lines, m[1])
		}
	}
	if len(lines) == 0 {
		return "no words"
	}
	if cut := len(lines) - 2*most; cut > 0 {
		lines = slices.Replace(lines, most, most+cut, "...")
	}
	return strings.Join(lines, "; ")
}
