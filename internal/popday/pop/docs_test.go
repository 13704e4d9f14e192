package pop

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/strict"
)

// TestPageTellsEveryKey: docs/format/pop.md names whatever a file may hold.
func TestPageTellsEveryKey(t *testing.T) {
	b, err := os.ReadFile("../../../docs/format/pop.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, k := range slices.Concat(topKeys, strict.Names(classKeys), strict.Names(trafficKeys), deeds, slices.Collect(maps.Keys(Measures)), []string{"when"}) {
		if !strings.Contains(page, "`"+k+"`") {
			t.Errorf("the page lacks %s", k)
		}
	}
	for section, keys := range map[string][]string{"path": strict.Names(pathKeys), "vary": strict.Names(varyKeys)} {
		for _, k := range keys {
			if !strings.Contains(page, "`"+section+"."+k+"`") {
				t.Errorf("the page lacks %s.%s", section, k)
			}
		}
	}
	for _, k := range slices.Concat(strict.Names(whenKeys), strict.Names(faultKeys), strict.Names(expectKeys)) {
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
