package privilege

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

const keepEnv = "CONGCTL_TEST_KEEP"

// TestMain: with keepEnv this binary gives up its privileges, and then must not gain any.
func TestMain(m *testing.M) {
	if os.Getenv(keepEnv) == "" {
		os.Exit(m.Run())
	}
	os.Exit(keep())
}

func keep() int {
	for range 4 { // threads of their own, which hold what they held
		go func() { runtime.LockOSThread(); select {} }()
	}
	want := Of(unix.CAP_NET_ADMIN, unix.CAP_CHOWN)
	left, err := Keep(want)
	if err != nil || left&^want != 0 {
		println(left.String(), err.Error())
		return 1
	}
	again, err := Keep(want) // without CAP_SETPCAP now
	if err != nil || again != left {
		println(again.String(), err.Error())
		return 1
	}
	out, err := exec.Command("cat", "/proc/self/status").Output()
	os.Stdout.Write(out)
	if err != nil {
		return 1
	}
	return 0
}

// TestKeep: as any user, what is left is part of what was wanted, and a program that is executed
// gains nothing. As root it has what was kept, as root's programs do.
func TestKeep(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), keepEnv+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	have, err := Effective()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"CapPrm": "0000000000000000", "NoNewPrivs": "1"}
	if both := Of(unix.CAP_NET_ADMIN, unix.CAP_CHOWN, unix.CAP_SETPCAP); have&both == both {
		want["CapPrm"], want["CapBnd"] = "0000000000001001", "0000000000001001"
	} else if have != 0 {
		t.Skip("needs all of root's capabilities or none; minimum kernel 3.5")
	}
	for name, value := range want {
		if m := regexp.MustCompile("(?m)^" + name + ":\t(.*)$").FindSubmatch(out); m == nil || string(m[1]) != value {
			t.Errorf("%s: %s, want %s", name, m, value)
		}
	}
}

func TestNames(t *testing.T) {
	for s, want := range map[Set]string{
		0: "none", Of(unix.CAP_BPF, unix.CAP_NET_ADMIN): "CAP_NET_ADMIN, CAP_BPF", Of(unix.CAP_CHOWN): "capability 0",
	} {
		if got := s.String(); got != want {
			t.Errorf("%#x: %s, want %s", uint64(s), got, want)
		}
	}
}
