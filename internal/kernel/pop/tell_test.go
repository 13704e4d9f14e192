package pop

import (
	"testing"

	"github.com/congctl/congctl/internal/core/pop"
)

func TestSelectedByTheLog(t *testing.T) {
	const round = "time=2026-11-22T00:26:00.301Z level=INFO msg=round window=1795306800 prefixes=24 ranked=24 in_group=5 selected="
	for log, want := range map[string]int{
		"":                                   pop.Nobody,
		"level=INFO msg=up pop=demo\n":       pop.Nobody,
		round + "3 new=1 released=0 note=\n": 3,
		round + "3 new=1 released=0 note=\n" + round + "12 new=9 released=0 note=\"\"\nlevel=INFO msg=plan serial=4\n": 12,
		round + "4 new=4 released=0 note=\nlevel=ERROR msg=round window=7 err=full\n":                                  pop.Nobody,
	} {
		if got := selected([]byte(log)); got != want {
			t.Errorf("%d selected, want %d, by\n%s", got, want, log)
		}
	}
}
