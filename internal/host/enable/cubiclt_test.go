package enable

import (
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/host/advise"
)

// TestCubicLTOfAnotherInit: where systemd does not boot the host, cubic_lt is turned on, no file is written, and the init
// and the command are named.
func TestCubicLTOfAnotherInit(t *testing.T) {
	p := CubicLT{Name: "cubic_lt", Program: "/usr/bin/congctl"}.For(&advise.Facts{System: advise.System{Init: "openrc", InitNetNS: advise.Know(true)}})
	for _, s := range p.Steps {
		if s.Kind == change.File {
			t.Errorf("writes %s", s.Target)
		}
	}
	if len(p.Steps) != 2 || len(p.Missing) > 0 || len(p.Notes) != 1 || p.Notes[0].About != AboutReboot {
		t.Fatalf("%+v", p)
	}
	for _, part := range []string{"init is openrc", "systemd only", `"congctl host enable cubic_lt --at-boot"`} {
		if !strings.Contains(p.Notes[0].Text, part) {
			t.Errorf("no %q in %s", part, p.Notes[0].Text)
		}
	}
}
