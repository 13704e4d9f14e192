package popworld

import (
	"net/netip"
	"testing"

	"github.com/congctl/congctl/internal/popday/pop"
)

// TestQueueIsBesideWhatIsUnderWay: 20 Mbit/s and 80 ms are 200,000 bytes under way;
// 100 ms more are 250,000 bytes of queue; 450,000 / 1514 is 297.2.
func TestQueueIsBesideWhatIsUnderWay(t *testing.T) {
	for _, c := range []struct {
		path pop.Path
		want string
	}{
		{pop.Path{RateBitPerS: 20e6, RTTUs: 80_000, Buffer: pop.Buffer{Us: 100_000}}, "netem limit 298 delay 80000000ns rate 20000000bit"},
		// 8 Mbit/s and 80 ms: 80,000 bytes, 52.8 packets, and five.
		{pop.Path{RateBitPerS: 8e6, RTTUs: 80_000, Buffer: pop.Buffer{Packets: 5}}, "netem limit 58 delay 80000000ns rate 8000000bit"},
		{pop.Path{RateBitPerS: 8e6, Buffer: pop.Buffer{Packets: 5}}, "netem limit 5 rate 8000000bit"},
		{pop.Path{RateBitPerS: 8e6, RTTUs: 40_000, JitterUs: 1000, Policer: true, BurstBytes: 30_000},
			"netem limit 1000000 delay 40000000ns jitter 1000000ns rate 100000000000bit"},
	} {
		if got := linkOf(c.path).String(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.path, got, c.want)
		}
	}
}

func TestHostsAreInTheirNetwork(t *testing.T) {
	for i := range 60 {
		p := pop.PrefixOf(i, 0)
		seen := map[netip.Addr]bool{}
		for h := range pop.Hosts {
			a := hostOf(p, h)
			if !p.Contains(a) || seen[a] {
				t.Errorf("%s: host %d is %s", p, h, a)
			}
			seen[a] = true
		}
	}
}

func TestContentLength(t *testing.T) {
	for head, want := range map[string]uint64{
		"HTTP/1.1 200 OK\r\nContent-Type: x\r\nContent-Length: 42\r\nDate: y": 42,
		"HTTP/1.1 200 OK\r\nContent-Length: 0":                                0,
	} {
		if got, err := contentLength([]byte(head)); err != nil || got != want {
			t.Errorf("%q: %d, %v", head, got, err)
		}
	}
	for _, head := range []string{"", "HTTP/1.1 400 Bad Request\r\nContent-Length: 42", "HTTP/1.1 200 OK\r\nX: y", "HTTP/1.1 200 OK\r\nContent-Length: -1"} {
		if got, err := contentLength([]byte(head)); err == nil {
			t.Errorf("%q: %d", head, got)
		}
	}
}
