package loopback

import (
	"os"
	"strings"
	"testing"
)

// TestConnect: what a connection reports is what the host's setting says.
func TestConnect(t *testing.T) {
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil {
		t.Fatal(err)
	}
	proofs, err := Connect()
	if err != nil || len(proofs) == 0 {
		t.Fatalf("%v, %v", proofs, err)
	}
	for _, p := range proofs {
		if want := strings.TrimSpace(string(b)); p.Cong != want {
			t.Errorf("%s: the setting is %s", p, want)
		}
		if p.Cong == "bbr" && (p.PacingGain <= 0 || !strings.Contains(p.String(), "bbr:(bw:")) {
			t.Errorf("%s: without what BBR tells", p)
		}
	}
}
