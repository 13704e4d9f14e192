package main

import (
	"net/netip"
	"strings"
	"testing"
)

func netipPrefix(t *testing.T, s string) netip.Prefix {
	t.Helper()
	p, err := netip.ParsePrefix(s)
	check(t, err)
	return p
}

// wrong are invocations that must change nothing: the words, the exit code, and what the
// message says.
var wrong = []struct {
	words string
	code  int
	says  string
}{
	{"shape set a 1mbps", 2, "write 8Mbit/s (1MB/s) or 1Mbit/s (125kB/s)"},
	{"shape set a 8000kbps", 2, "64000000 bit/s (8000000 B/s); most others read bits, 8000000 bit/s"},
	{"shape set a 1000000", 2, "ambiguous"},
	{"shape set a 1KBps", 2, "ambiguous"},
	{"shape set a 1Mb/s", 2, "b may be bits"},
	{"shape set a 1MB", 2, "write 1MB/s"},
	{"shape set a 0Mbit/s", 2, "zero"},
	{"shape set a 1kbit/s", 2, "below 8kbit/s"},
	{"shape set a 2000Gbit/s", 2, "above 1000Gbit/s"},
	{"shape set a 50%", 2, "not a number and a unit"},
	{"shape set a 1,5Mbit/s", 2, "contains a comma"},
	{"shape set a 8Mbit/s 9Mbit/s", 2, "\"9Mbit/s\" is one argument too many"},
	{"shape set a", 2, "missing RATE"},
	{"shape set", 2, "missing IFACE RATE"},
	{"shape set a 8Mbit/s --burst 200kb", 2, "write 200KiB or 200kB"},
	{"shape set a 8Mbit/s --burst 100B", 2, "smaller than a frame of this link (1514 bytes)"},
	{"shape set a 8Mbit/s --burst automatic", 2, "(or auto)"},
	{"shape set a 8Mbit/s --queue 50", 2, "write 50B or 50us"},
	{"shape set a 8Mbit/s --queue 2min", 2, "unknown unit"},
	{"shape set a 8Mbit/s --queue 61s", 2, "any TCP has given the packet up as lost"},
	{"shape set a 8Mbit/s --burst 200KiB --queue 100KiB", 2, "smaller than the burst"},
	{"shape set a 8Mbit/s --inner htb", 2, "use fq_codel"},
	{"shape set a 8Mbit/s --ingress 1mbps", 2, "--ingress"},
	{"shape set a 8Mbit/s --confirm --no-confirm", 2, "use only one of them"},
	{"shape set a 8Mbit/s --confirm-within 5h", 2, "write 1s to 1h"},
	{"shape set a 8Mbit/s --rate 3", 2, "--rate: no such flag"},
	{"shape set lo 8Mbit/s", 2, "the loopback"},
	{"shape set nosuch0 8Mbit/s", 3, "no such interface"},
	{"shape set an-interface-of-20c 8Mbit/s", 2, "1 to 15 characters"},
	{"shape set a 8Mbit/s -o yaml", 2, "use table, json, jsonl"},
	{"shape set 8Mbit/s a", 2, "interface \"8Mbit/s\""},
	{"shape clear", 2, "missing IFACE"},
	{"shape clear a", 3, "no limit of congctl"},
	{"shape clear nosuch0", 3, "no such interface"},
	{"shape confirm a", 3, "no limit waits for confirmation"},
	{"shape show nosuch0", 3, "no such interface"},
	{"shape show a b", 2, "\"b\" is one argument too many"},
	{"shape nosuch", 2, "unknown command \"nosuch\""},
}

// Each wrong invocation has a clear message, its exit code, and leaves the host as it is.
func TestWrongInvocations(t *testing.T) {
	s := newShaped(t)
	before := s.state()
	for _, w := range wrong {
		out, code := s.run(strings.Fields(w.words)...)
		if code != w.code || !strings.Contains(out, w.says) {
			t.Errorf("congctl %s: exit %d, wanted %d with %q\n%s", w.words, code, w.code, w.says, out)
		}
		if after := s.state(); after != before {
			t.Fatalf("congctl %s: changed the host\nbefore\n%s\nafter\n%s", w.words, before, after)
		}
	}
}
