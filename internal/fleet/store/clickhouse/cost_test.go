package clickhouse

import (
	"testing"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/loop/store/wire/wiretest"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestCostOfRows: what a message of Kafka costs to become rows or be refused. No message has more rows than a batch has
// records and ends.
func TestCostOfRows(t *testing.T) {
	inputs := wiretest.Hostile(wire.Header{Host: "edge-1", PoP: "chi", Boot: record.BootID{1}, Sequence: 1}, 1_767_322_800, 300)
	w := new(Store).NewWriter(0)
	wiretest.Door(t, inputs, wiretest.InRecord, func(in wiretest.Input) error {
		before := w.Rows()
		err := w.Add(in.Body)
		if n := w.Rows() - before; n > 1064 || err != nil && n > 0 {
			t.Errorf("%s: %d rows, %v", in.Name, n, err)
		}
		return err
	})
}
