package plan

import (
	"math"
	"net/netip"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// TestChance: draws are the same each time, uniform, and differ by prefix, period and salt.
func TestChance(t *testing.T) {
	d, other := NewDraws([]byte("one"), 0, 0), NewDraws([]byte("two"), 0, 0)
	seen, sum, squares := map[float64]bool{}, 0.0, 0.0
	const n = 10_000
	for i := range n {
		p, _ := record.PrefixOf(netip.AddrFrom4([4]byte{198, 18, byte(i % 100), 0}))
		v := d.Chance(p, int64(i/100))
		if v < 0 || v >= 1 || seen[v] || v != d.Chance(p, int64(i/100)) || v == other.Chance(p, int64(i/100)) {
			t.Fatalf("%s in %d: %v", p, i/100, v)
		}
		seen[v] = true
		sum, squares = sum+v, squares+v*v
	}
	// Standard errors: 1/sqrt(12 n) = 0.003 of the mean, 0.003 of the mean square.
	if math.Abs(sum/n-0.5) > 0.012 || math.Abs(squares/n-1.0/3) > 0.012 {
		t.Errorf("mean %.4f, mean square %.4f", sum/n, squares/n)
	}
}
