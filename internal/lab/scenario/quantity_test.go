package scenario

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestQuantities(t *testing.T) {
	rate := func(s string) (uint64, error) { return ReadRate(s) }
	share := func(s string) (uint64, error) { v, err := ReadShare(s); return uint64(v), err }
	for _, c := range []struct {
		read func(string) (uint64, error)
		text string
		want uint64
	}{
		{rate, "100mbit", 100e6}, {rate, "8000Kbit", 8e6}, {rate, "1.5mbit", 1.5e6}, {rate, "1MB/s", 8e6}, {rate, "0.1gbit", 1e8},
		{parseTime, "0us", 0}, {parseTime, "1.5ms", 1500}, {parseTime, "86400s", 86400e6},
		{ReadSize, "200KiB", 204800}, {ReadSize, "64MB", 64e6}, {ReadSize, "0.5kB", 500}, {ReadSize, "1000GB", 1e12},
		{share, "0.0001%", 1}, {share, "100%", 1e6}, {share, "16%", 160000},
	} {
		if got, err := c.read(c.text); err != nil || got != c.want {
			t.Errorf("%s: %d, %v, want %d", c.text, got, err, c.want)
		}
	}
	for text, read := range map[string]func(string) (uint64, error){
		"101gbit": rate, "1e3mbit": rate, "-1mbit": rate, "1mibit": rate, "1 mbit": rate, "mbit": rate, "1.5bit": rate, "1mbps": rate,
		"0.5us": parseTime, "86401s": parseTime, "5min": parseTime, "5": parseTime, "": parseTime,
		"1001GB": ReadSize, "1Mb": ReadSize, "1k": ReadSize, "1mbit": ReadSize, "0.00001%": share, "101%": share, "0.01": share,
	} {
		if got, err := read(text); err == nil {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

// TestMulDiv against whole numbers without bounds.
func TestMulDiv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64()
		a, b, c := n.Draw(t, "a"), n.Draw(t, "b"), max(1, n.Draw(t, "c"))
		product := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
		up := new(big.Int).Add(product, new(big.Int).SetUint64(c-1))
		want := new(big.Int).Div(up, new(big.Int).SetUint64(c))
		got := mulDiv(a, b, c)
		if want.IsUint64() && got != want.Uint64() || !want.IsUint64() && got != 1<<64-1 {
			t.Fatalf("%d x %d / %d = %d, want %v", a, b, c, got, want)
		}
	})
}
