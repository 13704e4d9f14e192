package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What a day in short windows sets, and what follows from it.
func TestDifferences(t *testing.T) {
	c, err := Parse([]byte("window: 2m\npoll: 12s\ntreatment: {never: [203.0.113.0/24, 198.51.100.0/24 probes]}\nexperiment: {block: 6m}\n"))
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
	for _, want := range []string{"window 2m (5m) false\n", "poll 12s (10s) false\n", "experiment.block 6m (10m) false\n", "experiment.washout 36s (1m) true\n",
		"treatment.expiry 6m (15m) true\n", "treatment.never [203.0.113.0/24, 198.51.100.0/24 probes] ([]) false"} {
		if !strings.Contains(text+"\n", want) {
			t.Errorf("lacks %q in\n%s", want, text)
		}
	}
	if list, err := Default().Differences(); err != nil || len(list) != 0 {
		t.Errorf("defaults differ from defaults: %v, %v", list, err)
	}
}

func TestChanges(t *testing.T) {
	a, err := Parse([]byte("treatment: {never: [203.0.113.0/24 probes]}\nplan: {max: 400}\n"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse([]byte("clients: {exclude: [198.51.100.0/24]}\nplan: {max: 400}\nstore: {keep_events: 7d}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Changes(a, b)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"clients.exclude is [198.51.100.0/24] (was [])", "treatment.never is [] (was [203.0.113.0/24 probes])", "store.keep_events is 7d (was 30d)"}
	if !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	if got, err := Changes(a, a); err != nil || len(got) > 0 {
		t.Errorf("the same: %q, %v", got, err)
	}
}
