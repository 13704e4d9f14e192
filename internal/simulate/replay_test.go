package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// noon is 2026-11-20T12:00:00Z, the start of a window.
const noon = 1_795_176_000

// line is one line of a history as a program would write it; -1 leaves a guard field out.
func line(start int64, pop, prefix string, n int, rate, rttUs, lost float64) string {
	v := map[string]any{keyStart: start, keyPoP: pop, keyPrefix: prefix, keyN: n, keyRate: rate}
	if rttUs >= 0 {
		v[keyRTT] = rttUs
	}
	if lost >= 0 {
		v[keyLost] = lost
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

// rulesOf reads a policy as --policy does.
func rulesOf(t testing.TB, text string) policy.Rules {
	t.Helper()
	c, err := config.ParsePolicy([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func roundsOf(t interface {
	Helper()
	Fatal(...any)
}, r policy.Rules, text string) (rounds []Round) {
	t.Helper()
	h, err := ReadHistory(strings.NewReader(text), r.WindowSeconds, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = Replay(context.Background(), r, h, func(r Round) error { rounds = append(rounds, r); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return rounds
}

// TestReplays plays histories that a person can check by hand.
//
//	policy   the YAML of --policy
//	replay   a line for each prefix: PoP, letter (a is 198.18.1.0/24), then for each
//	         window NxRATE in kB/s, or "-" for no row; rtt=MS lost=SHARE before them hold for
//	         all that follow. Gives a line for each round, letters for prefixes.
//	lines    the history as it is; gives what is wrong with it
func TestReplays(t *testing.T) {
	datadriven.Walk(t, "testdata/replay", func(t *testing.T, path string) {
		rules := policy.DefaultRules()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "policy":
				rules = rulesOf(t, d.Input)
				return "ok\n"
			case "replay":
				return roundsText(roundsOf(t, rules, expand(t, d.Input)))
			case "lines":
				h, err := ReadHistory(strings.NewReader(d.Input+"\n"), rules.WindowSeconds, nil)
				if err != nil {
					return err.Error() + "\n"
				}
				return fmt.Sprintf("%d lines\n", h.Len())
			}
			t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
			return ""
		})
	})
}

// expand writes JSON lines, the last prefix first: the order must not matter.
func expand(t *testing.T, input string) (text string) {
	for l := range strings.Lines(input) {
		w := strings.Fields(l)
		rtt, lost, at := -1.0, -1.0, int64(noon)
		for _, word := range w[2:] {
			switch name, value, ok := strings.Cut(word, "="); {
			case ok && name == "rtt":
				rtt = 1000 * float(t, value)
			case ok:
				lost = float(t, value)
			case word == "-":
				at += 300
			default:
				n, rate, _ := strings.Cut(word, "x")
				text = line(at, w[0], fmt.Sprintf("198.18.%d.0/24", w[1][0]-'a'+1), int(float(t, n)), 1000*float(t, rate), rtt, lost) + text
				at += 300
			}
		}
	}
	return text
}

func float(t *testing.T, s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func roundsText(rounds []Round) string {
	var b strings.Builder
	for _, r := range rounds {
		fmt.Fprintf(&b, "%2d %s known %d selected %s", (r.RoundStart-noon)/300, r.PoP, r.Known, letters(r.Selected))
		if len(r.Added) > 0 {
			fmt.Fprintf(&b, " added %s", letters(r.Added))
		}
		if len(r.Released) > 0 {
			fmt.Fprintf(&b, " released %s", letters(r.Released))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func letters(list []record.Prefix) string {
	if len(list) == 0 {
		return "-"
	}
	s := ""
	for _, p := range list {
		s += string('a' + p.Netip().Addr().As4()[2] - 1)
	}
	return s
}

func TestEmptyListsAreLists(t *testing.T) {
	rules := policy.DefaultRules()
	rules.Select, rules.Cap = policy.SelectBenefit, true // of no meaning without the experiment
	r := roundsOf(t, rules, line(noon, "ams", "198.18.1.0/24", 5, 1e5, -1, -1))
	b, err := json.Marshal(r[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"round_start_unix_s":1795176300,"pop":"ams","known":1,"selected":[],"added":[],"released":[]}`; string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

// TestReplayStops: an interrupted replay ends with the cause.
func TestReplayStops(t *testing.T) {
	h, err := ReadHistory(strings.NewReader(line(noon, "ams", "198.18.1.0/24", 5, 1e5, -1, -1)), 300, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err = Replay(ctx, policy.DefaultRules(), h, func(Round) error { t.Error("a round ran"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
