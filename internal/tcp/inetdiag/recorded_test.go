package inetdiag

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// A whole dump of a 6.18 kernel as it came from the socket (loopback only):
// cubic, bbr and reno over both families, in seven states, with a listener whose
// queue is full. testdata/6.18/dump.txt is what the decoder makes of it.
//
//go:embed testdata/6.18/dump.bin
var recorded []byte

//go:embed testdata/6.18/dump.txt
var recordedText string

func TestRecordedDump(t *testing.T) {
	var text strings.Builder
	var s Sock
	count, done := 0, false
	for b := recorded; len(b) > 0; {
		m, rest, err := Next(b)
		if err != nil {
			t.Fatal(err)
		}
		b = rest
		if m.Type == TypeDone {
			done = true
			continue
		}
		if err := Decode(m.Data, &s); err != nil {
			t.Fatal(err)
		}
		count++
		describe(&text, s)
		var again Sock
		if err := Decode(s.Append(nil), &again); err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("%x does not survive its own encoding: %v", s.Cookie, err)
		}
	}
	if !done || count < 90 {
		t.Errorf("%d sockets, done %v", count, done)
	}
	if text.String() != recordedText {
		t.Errorf("dump.txt differs; the decoder now says:\n%s", text.String())
	}
}

// describe prints one socket: a line for the head, one for each attribute, fields
// that are not zero.
func describe(b *strings.Builder, s Sock) {
	fmt.Fprintf(b, "%s %v %v", StateName(s.State), s.Local, s.Remote)
	v := reflect.ValueOf(s)
	var nested []string
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Name, v.Field(i)
		switch {
		case f.IsZero() || name == "State" || name == "Local" || name == "Remote":
		case f.Type() == reflect.TypeFor[Cong]():
			fmt.Fprintf(b, " %s=%s", name, s.Cong)
		case f.Kind() == reflect.Struct:
			nested = append(nested, name+nonZero(f))
		default:
			fmt.Fprintf(b, " %s=%v", name, f.Interface())
		}
	}
	for _, n := range nested {
		fmt.Fprintf(b, "\n  %s", n)
	}
	b.WriteByte('\n')
}

func nonZero(v reflect.Value) (text string) {
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			text += fmt.Sprintf(" %s=%v", v.Type().Field(i).Name, v.Field(i).Interface())
		}
	}
	return text
}
