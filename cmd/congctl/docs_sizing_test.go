package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// short writes a number with three digits, as the table has them.
func short(x float64, unit string) string {
	for _, s := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}} {
		if x >= s.size {
			return strings.TrimSpace(fmt.Sprintf("%.3g %s%s", x/s.size, s.name, unit))
		}
	}
	return fmt.Sprintf("%.0f", x)
}

// TestSizing does the sums of docs/fleet.md again, from the figures above them.
func TestSizing(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(docsRoot, "docs/fleet.md"))
	check(t, err)
	figure := func(begins string) float64 {
		t.Helper()
		m := regexp.MustCompile(`(?m)^\| ` + begins + `.*\| ([0-9,]+) \|$`).FindSubmatch(page)
		if m == nil {
			t.Fatalf("no figure %q", begins)
		}
		x, err := strconv.ParseFloat(strings.ReplaceAll(string(m[1]), ",", ""), 64)
		check(t, err)
		return x
	}
	perPoP, days := figure("records a second and PoP"), figure("days that")
	daily := perPoP * 86400
	controllers := func(pops float64) float64 {
		return math.Ceil(pops * perPoP * 300 / figure("records a second that one controller") / figure("seconds of a window"))
	}
	for begins, of := range map[string]func(pops float64) string{
		"records a day": func(pops float64) string { return short(pops*daily, "") },
		"Kafka, bytes":  func(pops float64) string { return short(pops*daily*figure("bytes of a record on the wire"), "B") },
		"ClickHouse, d": func(pops float64) string { return short(pops*daily*days*figure("bytes of a record on Click"), "B") },
		"ingests": func(pops float64) string {
			return short(math.Ceil(pops*perPoP/figure("records a second that one ingest")), "")
		},
		"controllers, e": func(pops float64) string { return short(controllers(pops), "") },
		"memory of them": func(pops float64) string {
			return short(controllers(pops)*figure("MB of memory of a controller")+pops*figure("MB of memory for each PoP"), "")
		},
	} {
		want := fmt.Sprintf("| %s | %s | %s |", of(10), of(100), of(1000))
		if m := regexp.MustCompile(`(?m)^\| ` + begins + `[^|]*(\|.*\|)$`).FindSubmatch(page); m == nil || string(m[1]) != want {
			t.Errorf("%s: the page has %q, the sum is %q", begins, m, want)
		}
	}
}
