package enable

import (
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/host/advise"
)

// TestMaskedSysctl: where nothing would read a file, none is written, and the answer says what would.
func TestMaskedSysctl(t *testing.T) {
	f := &advise.Facts{System: advise.System{Init: "systemd", Applies: advise.Know(false), InitNetNS: advise.Know(true), Caps: advise.Caps{NetAdmin: true}},
		Modules: map[string]advise.Module{"tcp_bbr": {State: advise.Know(advise.ModuleBuiltin)}}}
	f.Kernel.Config = advise.Know(map[string]string{"DEFAULT_TCP_CONG": "cubic"})
	p := For(f)
	if n := len(p.Steps); n != 1 || p.Steps[0].Kind != change.Sysctl || len(p.Missing) > 0 {
		t.Fatalf("%+v", p)
	}
	if last := p.Notes[len(p.Notes)-1]; last.About != AboutReboot || !strings.Contains(last.Text, "sudo systemctl unmask systemd-sysctl") {
		t.Errorf("%+v", p.Notes)
	}
}
