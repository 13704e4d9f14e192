package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/kernel/uml"
)

// These tests boot machines. They need QEMU and a kernel, and no root:
//
//	CONGCTL_LAB_KERNEL, CONGCTL_LAB_MODULES   a kernel
//	CONGCTL_LAB_CACHE                         or a folder; a kernel is downloaded into it if it has none
//
// Without they skip: a plain go test downloads nothing and takes no minutes.

// limit is generous: a machine takes some seconds of a CPU that others may use as well.
const limit = 5 * time.Minute

// Made once, when the first test wants it.
var (
	testKernel = sync.OnceValues(findTestKernel)
	testGuest  = sync.OnceValues(buildTestGuest)
	guestDir   string
	started    atomic.Int32 // machines
)

func findTestKernel() (Kernel, error) {
	want := Want{Image: os.Getenv("CONGCTL_LAB_KERNEL"), Modules: os.Getenv("CONGCTL_LAB_MODULES"), Cache: os.Getenv("CONGCTL_LAB_CACHE"), Fetch: true}
	if want.Cache == "" && want.Image == "" {
		return Kernel{}, errors.New("neither CONGCTL_LAB_CACHE nor CONGCTL_LAB_KERNEL is set")
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return Find(ctx, want)
}

func buildTestGuest() (string, error) {
	var err error
	if guestDir, err = os.MkdirTemp("", "congctl-vm"); err != nil {
		return "", err
	}
	guest := filepath.Join(guestDir, "testguest")
	build := exec.Command("go", "build", "-o", guest, "./testguest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=-buildvcs=false -trimpath")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build testguest: %w: %s", err, out)
	}
	return guest, nil
}

func TestMain(m *testing.M) {
	status := m.Run()
	if guestDir != "" {
		os.RemoveAll(guestDir)
	}
	os.Exit(status)
}

// inEach runs a test in QEMU with a stock kernel, and in a kernel that is a program.
func inEach(t *testing.T, test func(t *testing.T, machine func(job string) Machine)) {
	t.Run("qemu", func(t *testing.T) {
		t.Parallel()
		test(t, func(job string) Machine { return machine(t, job) })
	})
	t.Run("uml", func(t *testing.T) {
		t.Parallel()
		test(t, func(job string) Machine { return program(t, job) })
	})
}

// program skips where no User Mode Linux kernel is built.
func program(t *testing.T, job string) Machine {
	t.Helper()
	if testing.Short() {
		t.Skip("boots a machine: seconds; minimum kernel of the guest 6.12")
	}
	built, ok := uml.Cached(os.Getenv("CONGCTL_LAB_CACHE"))
	if !ok {
		t.Skip("needs CONGCTL_LAB_CACHE with a kernel of `congctl lab kernel build`, Linux 6.12")
	}
	return aMachine(t, Kernel{Image: built.Path, Program: true, Release: built.Release}, job)
}

// machine skips where there is no QEMU or no kernel.
func machine(t *testing.T, job string) Machine {
	t.Helper()
	if testing.Short() {
		t.Skip("boots a machine: seconds; minimum kernel of the guest 5.10")
	}
	if _, err := exec.LookPath(qemuName); err != nil {
		t.Skip("needs qemu-system-x86_64: apt-get install -y qemu-system-x86; minimum kernel of the guest 5.10")
	}
	kernel, err := testKernel()
	if err != nil {
		t.Skipf("needs a kernel package (minimum kernel of the guest 5.10; CONGCTL_LAB_CACHE names a folder for one): %v", err)
	}
	return aMachine(t, kernel, job)
}

func aMachine(t *testing.T, kernel Kernel, job string) Machine {
	t.Helper()
	guest, err := testGuest()
	if err != nil {
		t.Fatal(err)
	}
	return Machine{
		Kernel: kernel, Init: guest, Job: []byte(job), Load: []string{"veth", "sch_netem", "tcp_bbr", "tcp_cubic"}, Wall: limit,
		CPU: int(started.Add(1)), // side by side on all CPUs
	}
}

func mustRun(t *testing.T, m Machine) Outcome {
	t.Helper()
	out, err := Run(context.Background(), m)
	if err != nil {
		t.Fatalf("%v; console:\n%s", err, out.Console)
	}
	t.Logf("%s, %s: up at %s, loaded %s, ended %s; wall %s, CPU %s", m.Job, m.Kernel.Release, out.Times.Up, out.Times.Loaded, out.Times.Ended, out.Wall, out.CPU)
	return out
}

// TestSameSeedSameBytes: transfers with losses over two namespaces, with a loaded host
// in between, do not differ; another seed gives other losses.
func TestSameSeedSameBytes(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, machine func(job string) Machine) {
		m := machine(`{"seed":1,"task":"transfer","n":3000000}`)
		first := mustRun(t, m)
		if n := strings.Count(string(first.Report), " 192.0.2.1:"); n != 46 {
			t.Fatalf("%d chunks arrived of 3,000,000 bytes: %s", n, first.Report)
		}
		stop := busy()
		m.CPU++
		second := mustRun(t, m)
		stop()
		third := mustRun(t, m)
		if string(first.Report) != string(second.Report) || string(first.Report) != string(third.Report) {
			t.Errorf("three runs differ:\n%s\n%s\n%s", first.Report, second.Report, third.Report)
		}
		if first.Times != second.Times || first.Times != third.Times {
			t.Errorf("the guest's clock differs: %v, %v, %v", first.Times, second.Times, third.Times)
		}
		m.Job = []byte(`{"seed":2,"task":"transfer","n":3000000}`)
		if other := mustRun(t, m); string(first.Report) == string(other.Report) {
			t.Error("another seed gives the same losses")
		}
	})
}

// busy keeps two threads of this process running until it is told to stop.
func busy() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	for range 2 {
		go func() {
			for ctx.Err() == nil {
			}
		}()
	}
	return cancel
}

func TestSeedIsAllThatIsRandom(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, machine func(job string) Machine) {
		seen := map[string]int{}
		for _, seed := range []int{7, 7, 8} {
			m := machine(`{"seed":` + strconv.Itoa(seed) + `,"task":"random","n":32}`)
			out := mustRun(t, m)
			if len(out.Report) != 64 {
				t.Fatalf("report %q", out.Report)
			}
			seen[string(out.Report)]++
			if want := map[bool]int{false: 1, true: 4}[m.Kernel.Program]; len(out.Missing) != want || !slices.Contains(out.Missing, "tcp_cubic") {
				t.Errorf("missing %q, and of QEMU's kernel only cubic is built in, of the other everything", out.Missing)
			}
			if len(out.KernelSHA256) != 64 || len(out.InitSHA256) != 64 || strings.Contains(out.QEMU, ".") == m.Kernel.Program || len(out.Args) == 0 {
				t.Errorf("cannot be run again: %+v", out)
			}
		}
		if len(seen) != 2 {
			t.Errorf("of seeds 7, 7 and 8: %v", seen)
		}
	})
}

// TestProgressAndLargeReport: six hours pass in seconds, with a line each hour; then
// 8 MB come out whole.
func TestProgressAndLargeReport(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, machine func(job string) Machine) {
		var lines []string
		m := machine(`{"seed":1,"task":"progress","n":6}`)
		m.Progress = func(line string) { lines = append(lines, line) }
		if out := mustRun(t, m); out.Times.Ended < 6*time.Hour || out.Times.Ended > 6*time.Hour+10*time.Second {
			t.Errorf("six hours took %s", out.Times.Ended)
		}
		if strings.Join(lines, ",") != "line 0,line 1,line 2,line 3,line 4,line 5" {
			t.Errorf("progress %q", lines)
		}
		m.Job = []byte(`{"seed":1,"task":"bytes","n":8000000}`)
		if out := mustRun(t, m); len(out.Report) != 8_000_000 {
			t.Errorf("%d bytes arrived", len(out.Report))
		}
	})
}

func TestGuestFaultsAreTold(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, machine func(job string) Machine) {
		for _, c := range []struct {
			job  string
			want error
			text string
		}{
			{`{"seed":1,"task":"error"}`, ErrGuest, "guest: the link is on fire"},
			{`{"seed":1,"task":"throw"}`, ErrGuest, "panic: thrown in the job"},
			{`{"task":"error"}`, ErrGuest, `no "seed"`},
			{`{"seed":1,"task":"exit"}`, ErrPanic, "Attempted to kill init! exitcode=0x00000300"},
			{`{"seed":1,"task":"crash"}`, ErrPanic, "sysrq"},
		} {
			m := machine(c.job)
			if m.Kernel.Program && c.text == "sysrq" {
				continue // it has none
			}
			out, err := Run(context.Background(), m)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || out.Report != nil {
				t.Errorf("%s: %v, want %q", c.job, err, c.text)
			}
		}
	})
}

// TestHungGuestIsEnded: once it spins, first by the limit, then by its caller.
func TestHungGuestIsEnded(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, machine func(job string) Machine) {
		m := machine(`{"seed":1,"task":"spin"}`)
		ctx, cancel := context.WithCancel(context.Background())
		m.Progress = func(string) { cancel() }
		if _, err := Run(ctx, m); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped by its caller: %v", err)
		}
		m.Wall, m.Progress = 2*time.Second, nil
		if out, err := Run(context.Background(), m); !errors.Is(err, ErrHung) || !strings.Contains(err.Error(), "ended after 2s") || out.Wall < m.Wall {
			t.Errorf("after its limit: %v after %s", err, out.Wall)
		}
	})
}

func TestInitMustRunInTheGuest(t *testing.T) {
	t.Parallel()
	m := machine(t, `{}`)
	script := filepath.Join(t.TempDir(), "init")
	write(t, script, "#!/bin/sh\n"+strings.Repeat("# no program for a guest without a shell\n", 9))
	for init, text := range map[string]string{script: "bad magic", "/bin/sh": "CGO_ENABLED=0", script + "x": "no such file"} {
		m.Init = init
		if _, err := Run(context.Background(), m); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", init, err, text)
		}
	}
}

func TestMissingQEMUSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Run(context.Background(), Machine{Init: "x"})
	if err == nil || !strings.Contains(err.Error(), "apt-get install -y qemu-system-x86") {
		t.Error(err)
	}
}
