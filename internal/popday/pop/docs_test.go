package pop

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/core/scenario"
)

// TestPageTellsEveryKey: docs/format/pop.md names whatever a file may hold.
func TestPageTellsEveryKey(t *testing.T) {
	b, err := os.ReadFile("../../../docs/format/pop.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, k := range slices.Concat(topKeys, scenario.Names(classKeys), scenario.Names(trafficKeys), deeds, []string{"when"}) {
		if !strings.Contains(page, "`"+k+"`") {
			t.Errorf("the page lacks %s", k)
		}
	}
	for section, keys := range map[string][]string{"path": scenario.Names(pathKeys), "vary": scenario.Names(varyKeys)} {
		for _, k := range keys {
			if !strings.Contains(page, "`"+section+"."+k+"`") {
				t.Errorf("the page lacks %s.%s", section, k)
			}
		}
	}
	for _, k := range slices.Concat(scenario.Names(whenKeys), scenario.Names(faultKeys)) {
		if !strings.Contains(page, k+": ") {
			t.Errorf("the page lacks %s", k)
		}
	}
	_, rest, _ := strings.Cut(page, "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	if d, err := Parse("pop.md", []byte(example)); err != nil || d.count() != 8 {
		t.Errorf("the page's example: %v", err)
	}
}
