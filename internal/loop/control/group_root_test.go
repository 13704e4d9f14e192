package control

import (
	"os"
	"os/user"
	"syscall"
	"testing"
)

func TestSocketGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives a socket to another group; no minimum kernel")
	}
	g, err := user.LookupGroupId("65534") // nogroup: there on every Debian
	if err != nil {
		t.Skipf("needs a group 65534: %v; no minimum kernel", err)
	}
	path := start(t, Options{Group: g.Name}, func(*Server) {})
	if gid := ofMode660(t, path).Sys().(*syscall.Stat_t).Gid; gid != 65534 {
		t.Errorf("gid %d", gid)
	}
}
