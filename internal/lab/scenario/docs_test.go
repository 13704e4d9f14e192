package scenario

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/strict"
)

// TestPageTellsEveryKey: docs/format/scenario.md names whatever a file may hold.
func TestPageTellsEveryKey(t *testing.T) {
	text, err := os.ReadFile("../../../docs/format/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, k := range slices.Concat(topKeys, strict.Names(pathKeys), strict.Names(senderKeys), strict.Names(flowKeys), strict.Names(stepKeys), strict.Names(lteKeys),
		strict.Names(handoverKeys), []string{"rates", "rtts", "lte", "handover", "match"}, bottlenecks, qdiscs, Gates) {
		if !strings.Contains(page, "`"+k+"`") && !strings.Contains(page, k+":") {
			t.Errorf("the page lacks %s", k)
		}
	}
	for section, keys := range map[string][]string{"measure": strict.Names(measureKeys), "seeds": strict.Names(seedKeys)} {
		for _, k := range keys {
			if !strings.Contains(page, "`"+section+"."+k+"`") {
				t.Errorf("the page lacks %s.%s", section, k)
			}
		}
	}
	_, rest, _ := strings.Cut(page, "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	if s, err := Parse("scenario.md", []byte(example)); err != nil || len(s.Cells) != 8 {
		t.Errorf("the page's example: %v", err)
	}
}
