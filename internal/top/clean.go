package top

import (
	"fmt"
	"strings"
	"unicode"
)

// clean replaces what a terminal would act on, and characters whose width terminals do not
// agree on: emoji, combining marks, joiners.
func clean(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return cells(r) != 1 }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t' || r == '\n':
			b.WriteByte(' ')
		case cells(r) == 0:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cells is the width of a character: 2 for those of East Asia (UAX 11, wide), 0 for those
// that clean replaces.
func cells(r rune) int {
	switch {
	case r >= ' ' && r < 0x7f, strings.ContainsRune("…▲▼·↓↑←→", r):
		return 1
	case r == unicode.ReplacementChar, !unicode.IsPrint(r), unicode.In(r, unicode.M, unicode.So):
		return 0
	case r >= 0x3041 && r <= 0x30ff, r >= 0x3400 && r <= 0x4dbf, r >= 0x4e00 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3:
		return 2 // kana, ideographs, Hangul
	case r <= 0x2fff && unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Common):
		if r >= 0x2000 && !unicode.In(r, unicode.Pd, unicode.Pi, unicode.Pf) {
			return 0
		}
		return 1
	}
	return 0
}

func widthOf(s string) (n int) {
	for _, r := range s {
		n += cells(r)
	}
	return n
}

// cut shortens a clean text to at most so many columns, and marks that with an ellipsis.
func cut(s string, width int) string {
	if widthOf(s) <= width {
		return s
	}
	if width <= 0 {
		return ""
	}
	n := 0
	for i, r := range s {
		if n += cells(r); n > width-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// pad cuts and fills a clean text to exactly so many columns.
func pad(s string, width int, right bool) string {
	s = cut(s, width)
	blanks := strings.Repeat(" ", max(0, width-widthOf(s)))
	if right {
		return blanks + s
	}
	return s + blanks
}

// wrap breaks a clean line between words; what follows the first line is indented further.
func wrap(s string, width int) (lines []string) {
	indent := min(len(s)-len(strings.TrimLeft(s, " "))+4, width/2)
	for widthOf(s) > width {
		at, n := 0, 0
		for i, r := range s {
			if n += cells(r); n > width {
				break
			}
			if r == ' ' && strings.TrimLeft(s[:i], " ") != "" {
				at = i
			}
		}
		if at == 0 {
			break // one long word: it is cut where it is shown
		}
		lines = append(lines, s[:at])
		s = strings.Repeat(" ", indent) + strings.TrimLeft(s[at:], " ")
	}
	return append(lines, s)
}
