package record

import (
	"net/netip"
	"testing"
)

func TestAddressesRedact(t *testing.T) {
	cases := []struct {
		in, prefix, full, none string
	}{
		{"203.0.113.77:5201", "203.0.113.0:0", "203.0.113.77:5201", ""},
		{"[::ffff:203.0.113.77]:9", "203.0.113.0:0", "[::ffff:203.0.113.77]:9", ""},
		{"[2001:db8:1:2ff:3:4:5:6]:443", "[2001:db8:1:200::]:0", "[2001:db8:1:2ff:3:4:5:6]:443", ""},
		{"[::1]:80", "", "[::1]:80", ""},
	}
	for _, c := range cases {
		in := netip.MustParseAddrPort(c.in)
		for rule, want := range map[Addresses]string{AddressesPrefix: c.prefix, AddressesFull: c.full, AddressesNone: c.none, 77: ""} {
			got := rule.Redact(in)
			if want == "" && got != (netip.AddrPort{}) || want != "" && got != netip.MustParseAddrPort(want) {
				t.Errorf("%s: Redact(%s) = %s, want %q", rule, c.in, got, want)
			}
		}
	}
}

func TestAddressesText(t *testing.T) {
	for a := AddressesPrefix; a <= AddressesNone; a++ {
		var b Addresses = 9
		txt, _ := a.MarshalText()
		if err := b.UnmarshalText(txt); err != nil || a != b {
			t.Errorf("%d prints as %q and reads as %v, %v", a, txt, b, err)
		}
	}
	b := AddressesNone
	if b.UnmarshalText([]byte("ful")) == nil || b != AddressesNone {
		t.Errorf("a misspelt rule was taken, or changed the value to %v", b)
	}
}
