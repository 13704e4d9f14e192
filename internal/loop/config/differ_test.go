package config

import (
	"fmt"
	"strings"
	"testing"
)

// What a day in short windows sets, and what follows from it.
func TestDifferences(t *testing.T) {
	c, err := Parse([]byte("window: 2m\npoll: 12s\nplan: {deny: [203.0.113.0/24, 198.51.100.0/24]}\nexperiment: {block: 10m}\n"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Differences()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprintf("%s %s (%s) %v", d.Key, d.Value, d.Default, d.Scaled))
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{"window 2m (5m) false\n", "poll 12s (10s) false\n", "experiment.block 10m (30m) false\n", "experiment.washout 2m (5m) true\n",
		"treatment.expiry 6m (15m) true\n", "plan.deny [203.0.113.0/24, 198.51.100.0/24] ([]) false"} {
		if !strings.Contains(text+"\n", want) {
			t.Errorf("lacks %q in\n%s", want, text)
		}
	}
	if list, err := Default().Differences(); err != nil || len(list) != 0 {
		t.Errorf("defaults differ from defaults: %v, %v", list, err)
	}
}
