package plan

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// What the parts of a line may hold. Each check serves the reader and Validate
// alike, so that no plan can be written that cannot be read back.

const (
	MaxReasonBytes  = 120           // fits on a terminal's line beside the prefix
	maxCapRuleBytes = 60            // "1.1 x p95, at least 2 Mbit/s"
	maxPoPBytes     = 63            // a DNS label: PoPs are often named after one
	maxCongBytes    = 15            // TCP_CA_NAME_MAX - 1
	minSaltBytes    = 16            // 128 bits: arms cannot be guessed from outside
	maxSaltBytes    = 64            // one SHA-256 block: HMAC hashes longer keys anyway
	maxUnix         = 9_223_372_036 // 2262-04-11: Unix nanoseconds end here
	timeLayout      = "2006-01-02T15:04:05Z"
)

func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
}

func printable(c byte) bool { return ' ' <= c && c <= '~' }

func checkWord(s string, most int) error {
	if s == "" {
		return errors.New("empty")
	}
	if len(s) > most {
		return fmt.Errorf("%q: %d bytes; at most %d", s, len(s), most)
	}
	for i := range len(s) {
		if !wordByte(s[i]) {
			return fmt.Errorf("%q: byte %#02x; use letters, digits, '-', '_' and '.'", s, s[i])
		}
	}
	return nil
}

func checkFree(s string, most int) error {
	if s == "" {
		return errors.New("empty")
	}
	if len(s) > most {
		return fmt.Errorf("%q: %d bytes; at most %d", s, len(s), most)
	}
	for i := range len(s) {
		if !printable(s[i]) {
			return fmt.Errorf("%q: byte %#02x; use printable ASCII", s, s[i])
		}
	}
	if s[0] == ' ' || s[len(s)-1] == ' ' {
		return fmt.Errorf("%q: leading or trailing space", s)
	}
	return nil
}

func checkOneOf(s string, choices ...string) error {
	for _, c := range choices {
		if s == c {
			return nil
		}
	}
	return fmt.Errorf("%q: not one of %s", s, strings.Join(choices, ", "))
}

func checkTime(unix int64) error {
	if unix < 1 || unix > maxUnix {
		return fmt.Errorf("%d Unix seconds: outside 1970-01-01T00:00:01Z to 2262-04-11T23:47:16Z", unix)
	}
	return nil
}

func parseTime(s string) (int64, error) {
	t, err := time.Parse(timeLayout, s)
	if err != nil {
		return 0, fmt.Errorf("%q: not a time; write UTC as in 2026-11-20T10:00:00Z", s)
	}
	return t.Unix(), nil
}

func appendTime(b []byte, unix int64) []byte {
	return time.Unix(unix, 0).UTC().AppendFormat(b, timeLayout)
}

// appendWord and appendFree replace what may not stand in a line, so that no
// value, however wrong, can forge a line. Validate refuses such a value by name.
func appendWord(b []byte, s string) []byte { return appendOnly(b, s, wordByte) }
func appendFree(b []byte, s string) []byte { return appendOnly(b, s, printable) }

func appendOnly(b []byte, s string, good func(byte) bool) []byte {
	for i := range len(s) {
		if good(s[i]) {
			b = append(b, s[i])
		} else {
			b = append(b, '?')
		}
	}
	return b
}

// CleanReason makes any text fit for Entry.Reason: what is not printable ASCII
// becomes '?', spaces around it go, and what is too long ends in "...".
func CleanReason(s string) string {
	s = strings.Trim(string(appendFree(nil, s)), " ")
	if len(s) > MaxReasonBytes {
		s = s[:MaxReasonBytes-3] + "..."
	}
	if s == "" {
		return "none given"
	}
	return s
}
