package inetdiag

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// runBytecode is the kernel's interpreter, done slowly: the oracle.
func runBytecode(t *testing.T, code []byte, sport uint16) bool {
	t.Helper()
	at := 0
	for at < len(code) {
		yes, no := int(code[at+1]), int(le.Uint16(code[at+2:]))
		hit := true
		switch code[at] {
		case opJump:
			hit = false
		case opSourceGE:
			hit = sport >= le.Uint16(code[at+6:])
		case opSourceLE:
			hit = sport <= le.Uint16(code[at+6:])
		default:
			t.Fatalf("operation %d at %d", code[at], at)
		}
		if hit {
			at += yes
		} else {
			at += no
		}
	}
	return at == len(code)
}

// auditBytecode is what the kernel demands before it runs a program: offsets in
// bounds and aligned, and every "no" inside the program on the chain of "yes".
func auditBytecode(t *testing.T, code []byte) {
	t.Helper()
	chain := map[int]bool{}
	for at := 0; at < len(code); at += int(code[at+1]) {
		chain[at] = true
	}
	for at := 0; at < len(code); {
		left, smallest := len(code)-at, opLen
		if code[at] != opJump {
			smallest = 2 * opLen
		}
		yes, no := int(code[at+1]), int(le.Uint16(code[at+2:]))
		if no < smallest || no > left+4 || no&3 != 0 || (no < left && !chain[at+no]) {
			t.Fatalf("bad no %d at %d of %d", no, at, len(code))
		}
		if yes < smallest || yes > left+4 || yes&3 != 0 {
			t.Fatalf("bad yes %d at %d of %d", yes, at, len(code))
		}
		at += yes
	}
}

func TestSportFilterAgainstOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		ranges := make([]PortRange, 1+r.IntN(12))
		for i := range ranges {
			lo := uint16(r.Uint32())
			ranges[i] = PortRange{lo, lo + uint16(r.IntN(min(3000, 65536-int(lo))))}
		}
		code, err := SportFilter(ranges)
		if err != nil {
			t.Fatal(err)
		}
		auditBytecode(t, code)
		check := func(port uint16) {
			want := false
			for _, p := range ranges {
				want = want || (port >= p.Lo && port <= p.Hi)
			}
			if runBytecode(t, code, port) != want {
				t.Fatalf("port %d of %v: want %v", port, ranges, want)
			}
		}
		for _, p := range ranges {
			for _, port := range []uint16{p.Lo - 1, p.Lo, p.Lo + 1, p.Hi - 1, p.Hi, p.Hi + 1} {
				check(port)
			}
		}
		for range 50 {
			check(uint16(r.Uint32()))
		}
		check(0)
		check(65535)
	}
}

func TestSportFilterMergesAndRefuses(t *testing.T) {
	code, err := SportFilter([]PortRange{{443, 443}, {80, 90}, {91, 100}, {85, 95}, {65535, 65535}, {65000, 65535}})
	if err != nil || len(code) != 3*20-4 {
		t.Errorf("%d bytes for three ranges, %v", len(code), err)
	}
	var many []PortRange
	for i := range 3001 {
		many = append(many, PortRange{uint16(2 * i), uint16(2 * i)})
	}
	if code, err := SportFilter(many[:3000]); err != nil {
		t.Error(err)
	} else {
		auditBytecode(t, code)
	}
	for want, ranges := range map[string][]PortRange{
		"no ports": nil, "443-80 is inverted; write 80-443": {{443, 80}}, "3001 separate ranges": many,
	} {
		if _, err := SportFilter(ranges); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestParsePortRange(t *testing.T) {
	for text, want := range map[string]string{
		"80": "80", "0": "0", "8080-8090": "8080-8090", "443-443": "443", "0-65535": "0-65535",
		"90-80": "inverted; write 80-90", "70000": "not a whole number from 0 to 65535", "": "not a whole number from 0 to 65535",
		"-1": "not two whole numbers", "80-": "not two whole numbers", "80-90-95": "not two whole numbers",
		"80-70000": "not two whole numbers", "+80": "not a whole number", " 80": "not a whole number",
	} {
		r, err := ParsePortRange(text)
		got := r.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := PortsOf([]PortRange{{8080, 8082}, {80, 80}, {8081, 8083}}); !slices.Equal(got, []uint16{8080, 8081, 8082, 80, 8083}) {
		t.Errorf("ports %v", got)
	}
}

// FuzzParsePortRange: what is read is written as text that is read as the same.
func FuzzParsePortRange(f *testing.F) {
	for _, s := range []string{"80", "8080-8090", "90-80", "-", "65536"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParsePortRange(text)
		if err != nil {
			if r != (PortRange{}) {
				t.Fatalf("%q: both a range and %v", text, err)
			}
			return
		}
		if again, err := ParsePortRange(r.String()); again != r || err != nil || r.Lo > r.Hi {
			t.Fatalf("%q: %v, then %v, %v", text, r, again, err)
		}
	})
}
