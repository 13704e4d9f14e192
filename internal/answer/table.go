package answer

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// inCell keeps a cell in its place, whatever a name in it has.
var inCell = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// Table writes rows below the words of a heading; the last column may be long.
func Table(w io.Writer, head string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.ReplaceAll(head, " ", "\t"))
	for _, r := range rows {
		cells := make([]string, len(r))
		for i := range r {
			cells[i] = inCell.Replace(r[i])
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// Stamp returns a Unix time as RFC 3339, "-" for none.
func Stamp(unix int64) string {
	if unix == 0 {
		return "-"
	}
	return time.Unix(unix, 0).UTC().Format("2006-01-02T15:04:05Z")
}

// Clock returns a Unix time's time of day in UTC, "-" for none.
func Clock(unix int64) string {
	if unix == 0 {
		return "-"
	}
	return time.Unix(unix, 0).UTC().Format("15:04:05")
}

// Mbit returns bytes/s as Mbit/s, "-" for none.
func Mbit(bytesPerS float64) string {
	if bytesPerS == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", bytesPerS*8/1e6)
}

// Yes returns yes or no.
func Yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Or returns s, or empty in its place.
func Or(s, empty string) string {
	if s == "" {
		return empty
	}
	return s
}

// About is a duration in seconds to the half hour, as exact as a forecast is: 30 min, 1.5 h, 9 h.
func About(s int64) string {
	half := max((s+900)/1800, 1)
	if half == 1 {
		return "30 min"
	}
	return strconv.FormatFloat(float64(half)/2, 'g', -1, 64) + " h"
}

// Count returns a number and what it counts, as "1 window" or "2 windows".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
