package clickhouse

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestDashboardQueries: each query of the Grafana dashboard runs on the tables and finds what is there.
func TestDashboardQueries(t *testing.T) {
	s := newStore(t)
	batches := batchtest.Clients(t, rand.New(rand.NewPCG(1, 2)), "chi", windowStart, 2, 1, 50)
	end := wire.Header{Boot: record.BootID{7}, Host: "edgea", PoP: "chi", Sequence: 9, Ends: []wire.WindowEnd{{Start: windowStart}}}
	insert(t, s, append(batches, batchtest.New(t, end))...)
	b, err := os.ReadFile("../../../../etc/grafana/congctl-clickhouse.json")
	check(t, err)
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ RawSQL string }
		}
	}
	check(t, json.Unmarshal(b, &d))
	macros := strings.NewReplacer("$__fromTime", "toDateTime(0)", "$__toTime", "toDateTime(4000000000)", "$pop", "chi")
	for _, p := range d.Panels {
		rows, err := s.conn.Query(t.Context(), macros.Replace(p.Targets[0].RawSQL))
		if err != nil {
			t.Errorf("%s: %v", p.Title, err)
			continue
		}
		if !rows.Next() {
			t.Errorf("%s shows nothing: %v", p.Title, rows.Err())
		}
		check(t, rows.Close())
	}
}
