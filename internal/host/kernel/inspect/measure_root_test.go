package inspect

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestMeasure runs the programs whose grammars host/advise knows, each in a network namespace of its
// own, on every case of its table, and compares what they set with what is written there.
func TestMeasure(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root for network namespaces; minimum kernel 3.8")
	}
	table, err := os.ReadFile("../../advise/testdata/sysctl.measured")
	if err != nil {
		t.Fatal(err)
	}
	if list, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_allowed_congestion_control"); !strings.Contains(string(list)+" ", "bbr ") && !strings.Contains(string(list), "bbr\n") {
		t.Skip("this kernel allows no bbr beside reno (Linux 4.15 with tcp_bbr loaded does)")
	}
	for column, program := range [][]string{{"/usr/lib/systemd/systemd-sysctl"}, {"/usr/sbin/sysctl", "-p"}} {
		t.Run(filepath.Base(program[0]), func(t *testing.T) {
			if _, err := exec.LookPath(program[0]); err != nil {
				t.Skipf("needs %s (any kernel from 4.15 on)", program[0])
			}
			for line := range strings.Lines(string(table)) {
				if line[0] != '#' {
					measure(t, program, strings.Fields(line)[column], line)
				}
			}
		})
	}
}

func measure(t *testing.T, program []string, want, line string) {
	text, err := strconv.Unquote(line[strings.IndexByte(line, '"') : len(line)-1])
	if err != nil {
		t.Fatal(err)
	}
	const key = "net.ipv4.tcp_congestion_control"
	text = strings.NewReplacer("@", key, "<blanks>", strings.Repeat(" ", 5000), "<letters>", strings.Repeat("x", 5000)).Replace(text)
	file := filepath.Join(t.TempDir(), "x.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	script := `for s in reno bbr; do echo $s >` + SysctlPath(key) + ` || exit; "$@" >/dev/null 2>&1; cat ` + SysctlPath(key) + `; done`
	c := exec.Command("/bin/sh", append(append([]string{"-c", script, "sh"}, program...), file)...)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(string(out))
	if len(got) == 2 && got[0] != got[1] {
		got[0] = "-" // kept what was there
	}
	if len(got) != 2 || got[0] != want {
		t.Errorf("%.100q: %v, written down as %s", text, got, want)
	}
}
