package popworld

import (
	"testing"

	"github.com/congctl/congctl/internal/popday/pop"
)

func TestSelectedByTheLog(t *testing.T) {
	const round = "2026-11-22T00:26:00Z INFO  round of 2026-11-22T00:26:00Z: 24 networks known, 24 ranked, 5 in the group; "
	for log, want := range map[string]int{
		"": pop.NoSelection,
		"2026-11-22T00:21:00Z INFO  up: pop demo, window 1m, poll 10s\n": pop.NoSelection,
		round + "3 in the plan, 1 new, 0 released\n":                     3,
		round + "3 in the plan, 1 new, 0 released\n" + round + "12 in the plan, 9 new, 0 released; note\n" +
			"2026-11-22T00:26:10Z ERROR alarm-round: store is full\n": 12,
	} {
		if got := selected([]byte(log)); got != want {
			t.Errorf("%d selected, want %d, by\n%s", got, want, log)
		}
	}
}
