package limit

import "testing"

func FuzzParseSession(f *testing.F) {
	f.Add("203.0.113.7 51000 192.0.2.1 22")
	f.Add("fe80::1%eth0 51000 fe80::2%eth0 22")
	f.Fuzz(func(t *testing.T, s string) {
		client, server, err := parseSession(s)
		if err == nil && (!client.IsValid() || !server.IsValid() || client.Zone() != "") {
			t.Errorf("%q: %s, %s", s, client, server)
		}
	})
}

func TestParent(t *testing.T) {
	if parent(1) != 0 || parent(-1) != 0 {
		t.Error("the first process has a parent")
	}
}
