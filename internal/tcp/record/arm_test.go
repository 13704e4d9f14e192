package record

import (
	"encoding"
	"testing"
)

// Every name is read back as the number that printed it, and a name that is none
// changes nothing.
func TestNamesRoundTrip(t *testing.T) {
	for i := range armNames {
		roundTrip(t, Arm(i), new(Arm))
	}
	for i := range appliedNames {
		roundTrip(t, Applied(i), new(Applied))
	}
	for i := range endNames {
		roundTrip(t, End(i), new(End))
	}
	for i := range rateSourceNames {
		roundTrip(t, RateSource(i), new(RateSource))
	}
	for i := range addressesNames {
		roundTrip(t, Addresses(i), new(Addresses))
	}
}

func roundTrip[T interface {
	comparable
	encoding.TextMarshaler
}, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T, v T, to P) {
	t.Helper()
	text, err := v.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if err := to.UnmarshalText(text); err != nil || *to != v {
		t.Errorf("%s reads back as %v (%v)", text, *to, err)
	}
	if err := to.UnmarshalText([]byte("no such name")); err == nil || *to != v {
		t.Errorf("%s after a bad name: %v (%v)", text, *to, err)
	}
}
