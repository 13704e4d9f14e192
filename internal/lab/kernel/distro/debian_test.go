package distro

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/congctl/congctl/internal/lab/kernel/vm"
)

// These tests boot a Debian 12 in QEMU, some minutes of one core each:
//
//	CONGCTL_DEBIAN_CACHE   a folder for its disk image, made when there is none: that takes root
//	CONGCTL_LAB_CACHE      a folder for its kernel, as the lab's tests have it
//
// Without they skip: a plain go test downloads nothing and takes no minutes.

// Made once, when the first test wants it.
var (
	kernel  = sync.OnceValues(findKernel)
	image   = sync.OnceValues(makeImage)
	program = sync.OnceValues(buildProgram)
	made    []string // folders
)

func findKernel() (vm.Kernel, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return vm.Find(ctx, vm.Want{Cache: os.Getenv("CONGCTL_LAB_CACHE"), Fetch: true})
}

func makeImage() (string, error) {
	k, err := kernel()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return Image(ctx, tree, os.Getenv("CONGCTL_DEBIAN_CACHE"), k)
}

func buildProgram() (path string, err error) {
	dir, err := newFolder()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "congctl")
	build := exec.Command("go", "build", "-ldflags=-s", "-o", path, tree+"/cmd/congctl")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=-buildvcs=false -trimpath")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build congctl: %w: %s", err, out)
	}
	return path, nil
}

func newFolder() (string, error) {
	dir, err := os.MkdirTemp("", "congctl-distro")
	made = append(made, dir)
	return dir, err
}

func TestMain(m *testing.M) {
	status := m.Run()
	for _, dir := range made {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// debian returns a fresh Debian with congctl on its path, booted.
func debian(t *testing.T) (Machine, *Running) {
	t.Helper()
	m, r := bare(t, program)
	must(t, r, installProgram)
	return m, r
}

const installProgram = "cat /dev/vda >/usr/local/bin/congctl && chmod 755 /usr/local/bin/congctl && sync"

// bare boots the image, with the file of carried as /dev/vda.
func bare(t *testing.T, carried func() (string, error)) (Machine, *Running) {
	t.Helper()
	m := machine(t, carried)
	return m, up(t, m)
}

// machine returns one to boot.
func machine(t *testing.T, carried func() (string, error)) Machine {
	t.Helper()
	if os.Getenv("CONGCTL_DEBIAN_CACHE") == "" || testing.Short() {
		t.Skip("boots a Debian 12 in QEMU, minutes: CONGCTL_DEBIAN_CACHE names a folder for its disk image; minimum kernel of the guest 4.13")
	}
	if _, err := exec.LookPath(qemuName); err != nil {
		t.Skip("needs qemu-system-x86_64: apt-get install -y qemu-system-x86; minimum kernel of the guest 4.13")
	}
	t.Parallel() // each emulator takes one CPU
	k, err := kernel()
	if err != nil {
		t.Fatal(err)
	}
	img, err := image()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := carried()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m := Machine{Image: k.Image, Disk: filepath.Join(dir, "disk"), Program: bin, Console: filepath.Join(dir, "console")}
	if err := Copy(context.Background(), img, m.Disk); err != nil {
		t.Fatal(err)
	}
	return m
}

// up boots the machine and waits until its network cards are.
func up(t *testing.T, m Machine) *Running {
	t.Helper()
	r := boot(t, m)
	t.Logf("up after %s", r.Up)
	must(t, r, "until ip -o addr | grep -q 192.0.2.2 && ip -o addr | grep -q 198.51.100.2; do sleep 0.2; done")
	return r
}

// again reboots the machine as an administrator does.
func again(t *testing.T, m Machine, r *Running) *Running {
	t.Helper()
	if err := r.Off("reboot"); err != nil {
		t.Fatal(err)
	}
	return up(t, m)
}

// powerCut boots the machine after its power was cut.
func powerCut(t *testing.T, m Machine, r *Running) *Running {
	t.Helper()
	r.Cut()
	return up(t, m)
}

// must runs a script that must succeed, and returns what it printed.
func must(t *testing.T, r *Running, script string) string {
	t.Helper()
	return exits(t, r, 0, script)
}

// timedOut is the code of a script that the guest's drive has ended.
const timedOut = 124

// exits runs a script that must end with this code.
func exits(t *testing.T, r *Running, code int, script string) string {
	t.Helper()
	res := do(t, r, script)
	t.Logf("# %s\n%s%s[%d]", script, res.Stdout, res.Stderr, res.Code)
	if res.Code == timedOut {
		t.Logf("%+v", do(t, r, "journalctl -q -b -n 100 -o short-monotonic --no-hostname; ps axf"))
	}
	if res.Code != code {
		t.Fatalf("%q ended with %d, want %d", script, res.Code, code)
	}
	return res.Stdout
}

// state is what must be as before when all is undone.
type state struct {
	files, sysctls, queues []string
	// memory is what the kernel computes from its free pages, which differ by a few from boot to boot.
	boot, memory []string
}

func stateOf(t *testing.T, r *Running) (now state) {
	t.Helper()
	const roots = "/etc /usr/lib/sysctl.d /usr/lib/modules-load.d /usr/lib/modprobe.d /usr/lib/systemd/network /usr/lib/systemd/system /usr/lib/udev/rules.d"
	parts := []struct {
		script string
		to     *[]string
	}{
		{"find " + roots + " -xdev -printf '%p %M %U:%G %l\\n' | sort && find " + roots + " -xdev -type f -print0 | sort -z | xargs -0 sha256sum", &now.files},
		// The key is drawn at each boot.
		{"sysctl -a -r '^net\\.' 2>/dev/null | grep -v '^net.core.netdev_rss_key '", &now.sysctls},
		{"cat /proc/sys/kernel/random/boot_id", &now.boot},
		// In the order of names: the kernel lists cards as their drivers found them, which differs from boot to boot.
		{"tc qdisc show | sort", &now.queues},
	}
	var script strings.Builder // one: each costs a shell's start
	for _, part := range parts {
		fmt.Fprintf(&script, "{ %s; } && echo @@ || exit 1\n", part.script)
	}
	res := do(t, r, script.String())
	said := strings.Split(res.Stdout, "@@\n")
	if res.Code != 0 || len(said) != len(parts)+1 {
		t.Fatalf("%q ended with %d: %s", script.String(), res.Code, res.Stderr)
	}
	for i, part := range parts {
		*part.to = strings.Split(strings.TrimSpace(said[i]), "\n")
	}
	now.sysctls = slices.DeleteFunc(now.sysctls, func(line string) bool {
		computed := isComputed.MatchString(line)
		if computed {
			now.memory = append(now.memory, line)
		}
		return computed
	})
	return now
}

var isComputed = regexp.MustCompile(`^net\.ipv4\.(tcp_mem|tcp_rmem|tcp_wmem|udp_mem)`)
