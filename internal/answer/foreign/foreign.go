// Package foreign cuts texts that another process wrote: an agent, a controller, a broker's client.
//
// It is not for a terminal, which package answer is; and no name is made of what it cuts.
package foreign

import (
	"strconv"
	"strings"
)

// MaxText is the most bytes of another process's text that go on into a log, an answer or a store: a reason names its
// first fault.
const MaxText = 300

// Cut returns at most so many bytes of a text that another process wrote, on one line, with ? for each character that
// cannot be printed.
func Cut(s string, bytes int) string {
	if len(s) > bytes {
		s = strings.Clone(s[:bytes]) // the rest need not stay in memory
	}
	if !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) {
		return s // most are, and a record's must be quick
	}
	return strings.Map(func(c rune) rune {
		if !strconv.IsPrint(c) || c == '\uFFFD' {
			return '?'
		}
		return c
	}, s)
}
