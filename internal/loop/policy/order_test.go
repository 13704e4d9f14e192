package policy

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// TestOrders: the orders of a table that a person can check by hand.
func TestOrders(t *testing.T) {
	rows := []Row{ // letter, state, duty, flap, kB/s (0: unknown), connections
		orderRow(t, "a", StateUntreated, 0, 0, 9000, 5),
		orderRow(t, "b", StateUntreated, 1, 0.1, 0, 0),
		orderRow(t, "c", StateExcluded, 1, 0, 300, 20),
		orderRow(t, "d", StateCooling, 1, 0, 200, 7),
		orderRow(t, "e", StateUntreated, 0, 0, 800, 7),
		orderRow(t, "f", StateHoldout, 0.9, 0, 500, 5),
		orderRow(t, "g", StateTrial, 0.8, 0.2, 700, 5),
		orderRow(t, "h", StatePromoted, 0.5, 0, 900, 5),
		orderRow(t, "i", StateAA, 1, 0, 650, 5),
		orderRow(t, "j", StateUntreated, 0.5, 0.3, 400, 5),
	}
	for order, want := range map[Order]string{
		ByInterest: "ghifdcbjea",
		ByAddress:  "abcdefghij",
		ByRate:     "dcjfigehab",
		ByConns:    "cdeghifjab",
		ByDuty:     "idcbfghjea",
		ByFlap:     "jgbhifdcea",
		"":         "ghifdcbjea",
	} {
		for seed := range uint64(20) {
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			order.Sort(rows)
			if got := letters(rows); got != want {
				t.Fatalf("by %s: %s, want %s", cmp.Or(order, "default"), got, want)
			}
		}
	}
	if !slices.Contains(Orders, ByInterest) || Orders[0] != ByInterest || len(Orders) != 6 {
		t.Errorf("orders %q", Orders)
	}
}

func orderRow(t *testing.T, name string, s State, duty, flap, kBPerS float64, conns int) Row {
	return Row{Prefix: letter(t, name), State: s, Duty: duty, Flap: flap, PerfBytesPerS: 1000 * kBPerS, Conns: conns}
}

// letters is letter's inverse over rows.
func letters(rows []Row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteByte('a' + byte(r.Prefix>>8) - 1)
	}
	return b.String()
}

// TestStatesAreAll: a state that a filter does not know could not be asked for.
func TestStatesAreAll(t *testing.T) {
	for _, s := range []Selected{{}, {State: StateTrial}, {State: StatePromoted}, {State: StateAlways}, {Role: record.ArmHoldout}, {Role: record.ArmAA}} {
		if !slices.Contains(States, s.state()) {
			t.Errorf("%+v is %s, not among %q", s, s.state(), States)
		}
	}
}
