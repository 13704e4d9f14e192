package world

import (
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/lab/scenario"
)

// A kernel is asked only for what the cells need.
func TestPartsOf(t *testing.T) {
	near := baseCell()
	near.Path.RTTUs, near.Path.Bottleneck, near.Path.BurstBytes = 0, "tbf", 3028
	policed := near
	policed.Sender.Qdisc, policed.Path.Bottleneck = "noqueue", "policer"
	policed.Flows = []scenario.Flow{{Name: "a", Cong: "bbr", Bytes: 1}, {Name: "b", Cong: "vegas", Bytes: 1}}
	for _, k := range []struct {
		cells []scenario.Cell
		want  []string
	}{
		{nil, nil},
		{[]scenario.Cell{baseCell()}, []string{"netem", "fq", "cubic"}},
		{[]scenario.Cell{near}, []string{"fq", "tbf", "cubic"}},
		{[]scenario.Cell{policed}, []string{"policer", "bbr", "vegas"}},
		{[]scenario.Cell{near, policed}, []string{"fq", "tbf", "policer", "bbr", "cubic", "vegas"}},
	} {
		wanted, err := partsOf(k.cells)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range wanted {
			names = append(names, p.name)
		}
		if !slices.Equal(names, k.want) {
			t.Errorf("%v, want %v", names, k.want)
		}
	}
}
