package vm

import (
	"cmp"
	"strings"
)

// compareReleases orders 6.1.9 before 6.1.10: numbers by value, the rest by bytes.
func compareReleases(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a = cutRun(a)
		y, b = cutRun(b)
		if c := compareRuns(x, y); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// cutRun takes the leading digits, or all up to the next digit.
func cutRun(s string) (run, rest string) {
	n := 1
	for n < len(s) && isDigit(s[n]) == isDigit(s[0]) {
		n++
	}
	return s[:n], s[n:]
}

func compareRuns(x, y string) int {
	if isDigit(x[0]) && isDigit(y[0]) {
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if c := cmp.Compare(len(x), len(y)); c != 0 {
			return c
		}
	}
	return cmp.Compare(x, y)
}
