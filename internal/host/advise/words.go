package advise

import (
	"fmt"
	"strconv"
	"strings"
)

// shown is how many of a list a fact names.
const shown = 4

// some names the first few of a list and counts the others.
func some(list []string) string {
	if len(list) <= shown {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:shown], ", "), len(list)-shown)
}

func itoa(n int) string { return strconv.Itoa(n) }

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return itoa(n) + " " + many
}
