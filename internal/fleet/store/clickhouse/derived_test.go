package clickhouse

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestDerived: what follows from other columns comes back also at the ends of their ranges.
func TestDerived(t *testing.T) { derived(t, newStore(t)) }

func derived(t *testing.T, s *Store) {
	times := []int64{0, 1, -1, windowStart * 1e9, math.MaxInt64, math.MinInt64}
	counts := []uint64{0, 1, 1 << 63, math.MaxUint64}
	var want []record.Conn
	for _, at := range times {
		for _, crossed := range times {
			want = append(want, record.Conn{Window: windowStart, AtNs: at, CrossedNs: crossed, SwitchedNs: at})
		}
	}
	for _, sent := range counts {
		for _, acked := range counts {
			c := record.Conn{Window: windowStart, WinBytesSent: sent, WinBytesAcked: acked, WinBytesRetrans: sent / 3}
			c.Info.BytesAcked, c.Info.SegsOut, c.Info.Delivered, c.Info.TotalRetrans = acked, uint32(sent), uint32(acked>>32), uint32(acked)
			want = append(want, c)
		}
	}
	insert(t, s, batchtest.New(t, header(1, 1), want...))
	if d := cmp.Diff(want, read(t, s, oddPoP, windowStart), sameAddr); d != "" {
		t.Errorf("records (-want +got):\n%.2000s", d)
	}
}
