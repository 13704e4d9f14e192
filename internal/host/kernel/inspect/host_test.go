package inspect

import (
	"testing"

	"github.com/congctl/congctl/internal/host/advise"
)

// TestThisHost reads the machine that the test runs on, whoever runs it: the parts
// that need no privilege are known everywhere.
func TestThisHost(t *testing.T) {
	f := Local().Read()
	if f.Kernel.Release == "" || f.Kernel.Arch == "" {
		t.Errorf("kernel %+v", f.Kernel)
	}
	for name, why := range map[string]string{
		"available":    f.Cong.Available.Why,
		"current":      f.Cong.Current.Why,
		"links":        f.Links.Why,
		"sockets":      f.Sockets.Why,
		"steal":        f.CPU.StealShare.Why,
		"run queue":    f.CPU.RunQueue.Why,
		"init user ns": f.System.InitUserNS.Why,
		"init net ns":  f.System.InitNetNS.Why,
		"proc sys":     f.System.ProcSysReadOnly.Why,
	} {
		if why != "" {
			t.Errorf("%s is unknown: %s", name, why)
		}
	}
	if len(f.Modules) != len(advise.WantedModules) || f.CPU.CPUs == 0 {
		t.Errorf("modules %v, cpu %v", f.Modules, f.CPU)
	}
	for _, l := range f.Links.Value {
		if _, ok := l.Root(); l.Loopback && l.Up && !ok {
			t.Errorf("link %+v has no root qdisc", l)
		}
	}
}
