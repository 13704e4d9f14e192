package plan

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The header is a table: one row is one line of the file. Writing, reading,
// checking and comparing all walk the same table, so a new field is one row.

const (
	magic       = "congctl-plan"
	columnsName = "columns"
	columns     = "prefix cong state since cap_bytes_per_s reason"
)

type field struct {
	name  string
	write func(b []byte, p *Plan) []byte
	read  func(p *Plan, s string) error
	check func(p *Plan) error
}

// Format 2 has the line group-settled, format 3 the line draw-by, too. A plan that has no such line is written in the first format that
// holds it: what was signed before there was another one keeps its bytes, its hash and its signature.
var formats = []string{"1", "2", "3"}

func (p *Plan) format() string {
	switch {
	case p.DrawBy != "":
		return formats[2]
	case p.GroupSettled != 0:
		return formats[1]
	}
	return formats[0]
}

// since is the first format of the lines that are not in all.
var since = map[string]string{groupSettled: formats[1], drawBy: formats[2]}

// header returns the lines after the first and before "entries".
func (p *Plan) header() []field { return headerOf(p.format()) }

func headerOf(format string) []field {
	return slices.DeleteFunc(slices.Clone(header), func(f field) bool { return since[f.name] > format })
}

const (
	groupSettled = "group-settled"
	drawBy       = "draw-by"
)

// header has the lines of all formats.
var header = []field{
	word("pop", func(p *Plan) *string { return &p.PoP }, checkPoP),
	number("serial", func(p *Plan) *uint64 { return (*uint64)(&p.Serial) }, 1, math.MaxInt64), // stores keep it signed
	moment("created", func(p *Plan) *int64 { return &p.Created }, nil),
	moment("expires", func(p *Plan) *int64 { return &p.Expires }, checkExpires),
	word("treatment", func(p *Plan) *string { return &p.Treatment }, checkCong),
	number("min-bytes", func(p *Plan) *uint64 { return &p.MinBytes }, 1, math.MaxInt64),
	number("block-seconds", func(p *Plan) *int64 { return &p.BlockSeconds }, 1, 86400),
	number("washout-seconds", func(p *Plan) *int64 { return &p.WashoutSeconds }, 0, 86400),
	word("experiment", func(p *Plan) *string { return &p.Experiment }, checkExperiment),
	number("group-trial", func(p *Plan) *int { return &p.GroupTrial }, 2, 1024),
	number("group-promoted", func(p *Plan) *int { return &p.GroupPromoted }, 2, 1024),
	number(groupSettled, func(p *Plan) *int { return &p.GroupSettled }, 2, 1024),
	word(drawBy, func(p *Plan) *string { return &p.DrawBy }, checkDrawBy),
	number("holdout-permille", func(p *Plan) *int { return &p.HoldoutPermille }, 0, 1000),
	number("aa-permille", func(p *Plan) *int { return &p.AAPermille }, 0, 1000),
	{"salt", writeSalt, readSalt, checkSalt},
	{"cap-rule", writeCapRule, readCapRule, checkCapRule},
}

// Line numbers, from 1. The first line is the format's name.
var lineWashout = lineOf("washout-seconds")

func (p *Plan) lineEntries() int { return len(p.header()) + 2 }
func (p *Plan) lineFirst() int   { return len(p.header()) + 4 } // of the first entry

func lineOf(name string) int {
	for i, f := range header {
		if f.name == name {
			return i + 2
		}
	}
	panic("no header line " + name)
}

func word(name string, at func(*Plan) *string, check func(string) error) field {
	return field{
		name:  name,
		write: func(b []byte, p *Plan) []byte { return appendWord(b, *at(p)) },
		read:  func(p *Plan, s string) error { *at(p) = s; return nil },
		check: func(p *Plan) error { return check(*at(p)) },
	}
}

func number[T int | int64 | uint64](name string, at func(*Plan) *T, low, high T) field {
	return field{
		name: name,
		write: func(b []byte, p *Plan) []byte {
			if v := *at(p); v < 0 {
				return strconv.AppendInt(b, int64(v), 10)
			}
			return strconv.AppendUint(b, uint64(*at(p)), 10)
		},
		read: func(p *Plan, s string) error {
			v, err := strconv.ParseUint(s, 10, 64)
			if err != nil || uint64(T(v)) != v || T(v) < 0 {
				return fmt.Errorf("%s: not a whole number from %d to %d", quote(s), low, high)
			}
			*at(p) = T(v)
			return nil
		},
		check: func(p *Plan) error {
			if v := *at(p); v < low || v > high {
				return fmt.Errorf("%d: outside %d to %d", v, low, high)
			}
			return nil
		},
	}
}

func moment(name string, at func(*Plan) *int64, check func(p *Plan) error) field {
	return field{
		name:  name,
		write: func(b []byte, p *Plan) []byte { return appendTime(b, *at(p)) },
		read:  func(p *Plan, s string) (err error) { *at(p), err = parseTime(s); return err },
		check: func(p *Plan) error {
			if err := checkTime(*at(p)); err != nil || check == nil {
				return err
			}
			return check(p)
		},
	}
}

func checkPoP(s string) error        { return checkWord(s, maxPoPBytes) }
func checkCong(s string) error       { return checkWord(s, maxCongBytes) }
func checkDrawBy(s string) error     { return checkOneOf(s, DrawByPoP) }
func checkExperiment(s string) error { return checkOneOf(s, ExperimentOff, ExperimentOn) }

func checkExpires(p *Plan) error {
	if p.Expires <= p.Created {
		return fmt.Errorf("%s: not after created %s", appendTime(nil, p.Expires), appendTime(nil, p.Created))
	}
	return nil
}

func writeSalt(b []byte, p *Plan) []byte { return hex.AppendEncode(b, p.Salt) }

func readSalt(p *Plan, s string) (err error) {
	p.Salt, err = hex.DecodeString(s)
	if err != nil {
		return fmt.Errorf("%s: not hex digits in pairs", quote(s))
	}
	return nil
}

func checkSalt(p *Plan) error {
	if n := len(p.Salt); n < minSaltBytes || n > maxSaltBytes {
		return fmt.Errorf("%d bytes; %d to %d", n, minSaltBytes, maxSaltBytes)
	}
	return nil
}

func writeCapRule(b []byte, p *Plan) []byte { return appendFree(b, p.CapRule) }
func readCapRule(p *Plan, s string) error   { p.CapRule = s; return nil }
func checkCapRule(p *Plan) error            { return checkFree(p.CapRule, maxCapRuleBytes) }

// checkHeader holds the rules for two lines at once.
func checkHeader(p *Plan) error {
	if p.WashoutSeconds >= p.BlockSeconds {
		return &LineError{lineWashout, "washout-seconds", errors.New("not shorter than block-seconds: no block would count")}
	}
	return nil
}

// What the parts of a line may hold. The reader and Validate share each check, so that every plan
// that can be written can be read back.

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
	return checkBytes(s, most, wordByte, "letters, digits, '-', '_' and '.'")
}

func checkFree(s string, most int) error {
	if err := checkBytes(s, most, printable, "printable ASCII"); err != nil {
		return err
	}
	if s[0] == ' ' || s[len(s)-1] == ' ' {
		return fmt.Errorf("%s: leading or trailing space", quote(s))
	}
	return nil
}

func checkBytes(s string, most int, good func(byte) bool, use string) error {
	if s == "" {
		return errors.New("empty")
	}
	if len(s) > most {
		return fmt.Errorf("%s: %d bytes; at most %d", quote(s), len(s), most)
	}
	for i := range len(s) {
		if !good(s[i]) {
			return fmt.Errorf("%s: byte %#02x; use %s", quote(s), s[i], use)
		}
	}
	return nil
}

func checkOneOf(s string, choices ...string) error {
	if slices.Contains(choices, s) {
		return nil
	}
	return fmt.Errorf("%s: not one of %s", quote(s), strings.Join(choices, ", "))
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
		return 0, fmt.Errorf("%s: not a time; write UTC as in 2026-11-20T10:00:00Z", quote(s))
	}
	return t.Unix(), nil
}

func appendTime(b []byte, unix int64) []byte {
	return time.Unix(unix, 0).UTC().AppendFormat(b, timeLayout)
}

// appendWord and appendFree replace what may not stand in a line, so that no value, however wrong,
// can forge a line. Validate refuses such a value by name.
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

// CleanReason makes any text fit for Entry.Reason: it turns everything but printable ASCII into '?',
// trims spaces, and ends long text in "...".
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
