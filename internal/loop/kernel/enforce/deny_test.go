package enforce

import (
	"errors"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/kernel/bpfobj"
	"github.com/congctl/congctl/internal/tcp/abi"
)

// fullMap is a map of the kernel that holds a number of entries, and that fails once.
type fullMap struct {
	has    map[lpmKey]bool
	most   int
	failAt int // the call that fails, counted from 1; 0: none
}

func (m *fullMap) Put(key, _ any) error {
	if m.failAt--; m.failAt == 0 {
		return errors.New("no memory")
	}
	k := key.(lpmKey)
	if !m.has[k] && len(m.has) == m.most {
		return errors.New("no space")
	}
	m.has[k] = true
	return nil
}

func (m *fullMap) Delete(key any) error {
	if m.failAt--; m.failAt == 0 {
		return errors.New("no memory")
	}
	delete(m.has, key.(lpmKey))
	return nil
}

// singles are n addresses from the i-th on.
func singles(i, n int) (nets []netip.Prefix) {
	for ; n > 0; i, n = i+1, n-1 {
		nets = append(nets, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32))
	}
	return nets
}

func keysOf(nets []netip.Prefix) map[lpmKey]bool {
	keys := map[lpmKey]bool{}
	for _, n := range nets {
		keys[lpmKeyOf(n)] = true
	}
	return keys
}

// TestDenyReplaced: a long list replaces another one although the map does not hold both; one
// that the map does not hold at all, and one at which the kernel fails, change nothing.
func TestDenyReplaced(t *testing.T) {
	m := &fullMap{has: map[lpmKey]bool{}, most: abi.MaxDenied}
	d := denyList{m: m, in: map[lpmKey]bool{}}
	is := func(step string, want []netip.Prefix) {
		t.Helper()
		if keys := keysOf(want); !maps.Equal(m.has, keys) || !maps.Equal(d.in, keys) {
			t.Errorf("%s: the kernel has %d, the list %d, want %d", step, len(m.has), len(d.in), len(want))
		}
	}
	for _, c := range []struct {
		step    string
		nets    []netip.Prefix
		failAt  int
		refused string
		want    []netip.Prefix
	}{
		{step: "a long one", nets: singles(0, 8000), want: singles(0, 8000)},
		{step: "another long one", nets: singles(8000, 8000), want: singles(8000, 8000)},
		{step: "half of it", nets: singles(12000, 8192), want: singles(12000, 8192)},
		{step: "too long", nets: singles(0, 8193), refused: "8193 networks never to treat: the kernel holds 8192", want: singles(12000, 8192)},
		{step: "the same twice is one", nets: append(singles(0, 8192), singles(0, 1)...), want: singles(0, 8192)},
		{step: "fails while it adds", nets: singles(8192, 8192), failAt: 10000, refused: "no memory", want: singles(0, 8192)},
		{step: "fails while it removes", nets: singles(8192, 8192), failAt: 100, refused: "no memory", want: singles(0, 8192)},
		{step: "none", want: nil},
	} {
		m.failAt = c.failAt
		err := d.set(c.nets)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v", c.step, err)
		}
		is(c.step, c.want)
	}
}

// TestMaxDenied: the map holds what the configuration allows.
func TestMaxDenied(t *testing.T) {
	spec, err := bpfobj.LoadCongctl()
	if err != nil {
		t.Fatal(err)
	}
	if n := spec.Maps["deny"].MaxEntries; n != abi.MaxDenied {
		t.Errorf("the map holds %d, abi.MaxDenied is %d", n, abi.MaxDenied)
	}
}
