package advise

import (
	"fmt"
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

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// Counted counts words in the order of their first: "2 fq and 1 tbf".
func Counted(words []string) string {
	count, parts := map[string]int{}, []string{}
	for _, w := range words {
		count[w]++
	}
	for _, w := range words {
		if count[w] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[w], w))
		}
		delete(count, w)
	}
	return strings.Join(parts, " and ")
}
