package loopback

import (
	"net"
	"net/netip"
	"os"
	"testing"
)

// TestUser: of a connected socket, by IPv4, IPv6 and the two mixed; of none that was closed.
func TestUser(t *testing.T) {
	for _, c := range [][2]string{{"127.0.0.1:0", "127.0.0.1"}, {"[::1]:0", "::1"}, {":0", "127.0.0.1"}, {":0", "127.9.9.9"}} {
		l, err := net.Listen("tcp", c[0])
		if err != nil {
			t.Logf("%s: %v", c[0], err) // no IPv6 here
			continue
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		there, err := net.Dial("tcp", net.JoinHostPort(c[1], port))
		if err != nil {
			t.Fatal(err)
		}
		here, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer here.Close()
		if uid, ok := userOf(t, here); !ok || uid != uint32(os.Getuid()) {
			t.Errorf("%v: %d, %t", c, uid, ok)
		}
		there.Close()
		if uid, ok := userOf(t, here); ok {
			t.Errorf("%v, closed: %d", c, uid)
		}
	}
	if uid, ok := User(netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("203.0.113.1:2")); ok {
		t.Errorf("of no socket: %d", uid)
	}
}

func userOf(t *testing.T, c net.Conn) (uint32, bool) {
	t.Helper()
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	remote, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	return User(local, remote)
}
