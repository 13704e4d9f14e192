package inspect

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/congctl/congctl/internal/host/advise"
)

// TestExecve runs texts as systemd does, and compares whether they ran with the prediction for an rc.local that is
// such a text.
func TestExecve(t *testing.T) {
	dir := t.TempDir()
	for i, first := range []string{"#!/bin/sh\n", "#! /bin/sh -e\n", "#!\t/bin/sh\n", "", "\n", "\n#!/bin/sh\n", " #!/bin/sh\n", "# x\n", "\ufeff#!/bin/sh\n", "#!/bin/sh\r\n", "#!sh\n", "#!\n"} {
		at := filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(at, []byte(first+"echo ran\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		out, _ := exec.Command(at).Output() // that it cannot be started is an answer
		ran := string(out) == "ran\n"
		f := advise.Facts{Files: advise.Files{{Path: advise.RCLocal, Text: first + "sysctl -w " + advise.KeyCong + "=bbr\n", Exec: true}}}
		f.System = advise.System{Init: "systemd", Script: advise.RCLocal}
		f.Kernel.Config = advise.Know(map[string]string{"DEFAULT_TCP_CONG": "cubic"})
		if got := f.AfterBoot(advise.KeyCong).Value.Value == "bbr"; got != ran {
			t.Errorf("%q: ran is %t, predicted %t", first, ran, got)
		}
	}
}
