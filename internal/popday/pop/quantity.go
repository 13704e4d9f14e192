package pop

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/lab/scenario"
)

const maxSpan = 7 * 24 * time.Hour

// readSpan reads a time with its unit, as in 4h, 2m, 20ms or 1h30m, in microseconds.
func readSpan(s string) (uint64, error) {
	if _, err := strconv.ParseFloat(s, 64); err == nil && s != "0" {
		return 0, fmt.Errorf("a bare number; write %ss, %sms or %sm", s, s, s)
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, errors.New("not a time; write it as in 4h, 2m, 1h30m, 10s or 20ms")
	case d < 0 || d > maxSpan:
		return 0, errors.New("not within 0s and 168h")
	case d%time.Microsecond != 0:
		return 0, errors.New("finer than a microsecond")
	}
	return uint64(d / time.Microsecond), nil
}

// readStep is readSpan that may go back, as in -10m.
func readStep(s string) (int64, error) {
	text, back := strings.CutPrefix(s, "-")
	us, err := readSpan(text)
	if back {
		return -int64(us), err
	}
	return int64(us), err
}

// readMean reads a number with up to six decimals, in millionths.
func readMean(s string) (uint64, error) {
	whole, part, _ := strings.Cut(s, ".")
	if whole == "" || len(whole) > 6 || len(part) > 6 || strings.HasSuffix(s, ".") {
		return 0, errors.New("not a number of at most six digits and six decimals; write it as in 2.4")
	}
	v, err := strconv.ParseUint(whole+part+strings.Repeat("0", 6-len(part)), 10, 64)
	if err != nil {
		return 0, errors.New("not a number; write it as in 2.4")
	}
	return v, nil
}

// readRange reads LEAST-MOST, as in 150kB-250kB, or one size.
func readRange(s string) (r Range, err error) {
	least, most, two := strings.Cut(s, "-")
	if r.Least, err = scenario.ReadSize(strings.TrimSpace(least)); err != nil {
		return r, err
	}
	if r.Most = r.Least; two {
		if r.Most, err = scenario.ReadSize(strings.TrimSpace(most)); err != nil {
			return r, err
		}
	}
	if r.Least == 0 || r.Most < r.Least || r.Most > maxResponse {
		return r, fmt.Errorf("not from small to large, or not within 1B and %d bytes", maxResponse)
	}
	return r, nil
}

// maxResponse: the server hands out a piece of one array of this size.
const maxResponse = 32 << 20
