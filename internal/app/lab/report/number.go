package report

import (
	"math"
	"strconv"

	"github.com/congctl/congctl/internal/core/outcome"
)

// Units of people: what an access line, a stopwatch and a ping are told in.
const (
	mbit   = 1e6  // bit/s
	second = 1e6  // us
	milli  = 1e3  // us
	cent   = 0.01 // of a share
	kilo   = 1e3  // bytes
)

// number has three significant digits, more than most intervals deserve, at most six
// decimals and no exponent.
func number(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	if err != nil || rounded == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(rounded))))
	return strconv.FormatFloat(rounded, 'f', max(0, min(6, decimals)), 64)
}

// span is "4.87 [4.70, 5.01]": a median and its interval, or the value of a single run.
func span(v *outcome.Interval, unit float64) string {
	if v.Low == v.High {
		return number(v.Median / unit)
	}
	return number(v.Median/unit) + " [" + number(v.Low/unit) + ", " + number(v.High/unit) + "]"
}
