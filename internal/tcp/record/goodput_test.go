package record

import "testing"

// A response that was all acknowledged at its crossing leaves its FIN to count, one byte in a round trip.
func TestGoodput(t *testing.T) {
	for name, c := range map[string]struct {
		bytes, us uint64
		want      float64
	}{
		"FIN alone":                {1, 174_000, 0},
		"last packets":             {10*1448 - 1, 174_000, 0},
		"an initial window":        {10 * 1448, 100_000, 144_800},
		"not followed, or no time": {100_000, 0, 0},
	} {
		conn := Conn{WinCountedBytesAcked: c.bytes, WinCountedBusyUs: c.us}
		if got := conn.Goodput(); got != c.want {
			t.Errorf("%s: %v bytes/s, want %v", name, got, c.want)
		}
	}
}
