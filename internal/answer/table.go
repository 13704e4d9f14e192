package show

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// table writes rows whose first is the heading; the last column may be long.
func table(w io.Writer, head string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.ReplaceAll(head, " ", "\t"))
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	return t.Flush()
}

func stamp(unix int64) string {
	if unix == 0 {
		return "-"
	}
	return time.Unix(unix, 0).UTC().Format("2006-01-02T15:04:05Z")
}

func clockTime(unix int64) string {
	if unix == 0 {
		return "-"
	}
	return time.Unix(unix, 0).UTC().Format("15:04:05")
}

func mbit(bytesPerS float64) string {
	if bytesPerS == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", bytesPerS*8/1e6)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func or(s, empty string) string {
	if s == "" {
		return empty
	}
	return s
}
