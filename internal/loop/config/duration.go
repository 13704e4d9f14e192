package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a positive duration such as "10s", "1h30m" or "7d": the standard
// library's forms, and whole or decimal days, since people think of retention in days.
// It refuses a bare number, whose unit would be a guess.
func ParseDuration(s string) (time.Duration, error) {
	if n, ok := strings.CutSuffix(s, "d"); ok {
		days, err := strconv.ParseFloat(n, 64)
		if err != nil || !(days >= 0) || days*float64(day) > math.MaxInt64/2 {
			return 0, fmt.Errorf("parse duration %q: not a number of days", s)
		}
		return time.Duration(days * float64(day)), nil
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("parse duration %q: want a number and a unit, as in 10s, 5m, 24h or 7d", s)
	case d < 0:
		return 0, fmt.Errorf("parse duration %q: negative", s)
	}
	return d, nil
}

// ParseSince reads a time in the past, or a duration back from now.
func ParseSince(s string, now time.Time) (time.Time, error) {
	if d, err := ParseDuration(s); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%q: write a duration, as 24h or 7d, or a time, as 2026-11-20T12:00:00Z", s)
	}
	if !t.Before(now) {
		return t, fmt.Errorf("%q: not in the past", s)
	}
	return t, nil
}

// FormatDuration prints d as a person would write it: "7d", "5m", "1m30s".
func FormatDuration(d time.Duration) string {
	if d >= 2*day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
