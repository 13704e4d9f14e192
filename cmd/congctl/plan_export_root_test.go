package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/linux/netns"
)

// TestExportAsRoutes has sh run the export as docs/verb/plan.md says, and asks the kernel for its way to clients.
func TestExportAsRoutes(t *testing.T) {
	needRoot(t)
	script := filepath.Join(exported(t, "ip-route", "routes.sh"), "routes.sh")
	ns, err := netns.Anonymous()
	check(t, err)
	t.Cleanup(func() { ns.Close() })
	check(t, errors.Join(netns.Veth(ns, "a", ns, "b"), ns.Up("a"), ns.Up("b")))
	sh := func(command string) (out string, err error) {
		err = ns.Do(func() error {
			b, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
			out = string(b)
			return err
		})
		return out, err
	}
	must := func(command string) string {
		t.Helper()
		out, err := sh(command)
		if err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
		return out
	}
	must("ip route add default dev a; ip -6 route add default dev a")
	for range 2 { // the second run replaces what the first one made
		must(`VIA4="dev a" VIA6="dev a" sh ` + script)
		for to, want := range asked {
			if out := must("ip route get " + to); strings.Contains(out, "congctl bbr") != (want != "") {
				t.Errorf("%s: %s", to, out)
			}
		}
	}
	must("ip route add 203.0.113.0/24 dev b")
	if out := must("ip route get 203.0.113.9"); !strings.Contains(out, "dev b") {
		t.Errorf("a route of another's to the same network does not win: %s", out)
	}
	if out, err := sh(`VIA4="dev a" sh ` + script); err == nil || !strings.Contains(out, "VIA6") {
		t.Errorf("without VIA6: %v: %s", err, out)
	}
	must("ip route flush proto 156")
	if out := must("ip route show proto 156; ip -6 route show proto 156"); out != "" {
		t.Errorf("left: %s", out)
	}
}
