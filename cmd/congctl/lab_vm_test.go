package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/kernel/guest"
	"github.com/congctl/congctl/internal/lab/kernel/vm"
	"github.com/congctl/congctl/internal/lab/kernel/world"
	"github.com/congctl/congctl/internal/lab/outcome"
)

// The lab on a real kernel, with this test binary as the guest's first process. It
// needs no root:
//
//	CONGCTL_LAB_CACHE=../../.cache/lab CGO_ENABLED=0 go test -run '^TestLab' ./cmd/congctl
const labCacheEnv = "CONGCTL_LAB_CACHE"

// labTask is what a test asks of a guest besides a world's job: a command line of
// congctl, and the file to hand back; or the name of a test, to run as root of the guest.
type labTask struct {
	Seed uint64   `json:"seed"`
	Args []string `json:"args"`
	Keep string   `json:"keep"`
	Test string   `json:"test"`
	Env  []string `json:"env"` // of the test
}

func playGuest(job []byte, progress func(string)) ([]byte, error) {
	var task labTask
	if err := json.Unmarshal(job, &task); err == nil && task.Test != "" {
		return testInGuest(task, progress)
	} else if err != nil || task.Args == nil {
		return runGuestJob(job, progress)
	}
	var out bytes.Buffer
	code := run(task.Args, &out, &out)
	b, err := os.ReadFile(task.Keep)
	if err != nil {
		return nil, fmt.Errorf("congctl %v ended with %d: %w:\n%s", task.Args, code, err, &out)
	}
	return b, nil
}

// testInGuest runs a test of this binary and passes on what it prints, line by line.
func testInGuest(task labTask, progress func(string)) ([]byte, error) {
	cmd := exec.Command("/proc/self/exe", "-test.run", "^"+task.Test+"$", "-test.v", "-test.timeout", "0")
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CONGCTL_GUEST=") }), task.Env...)
	printed, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	passed := false
	for lines := bufio.NewScanner(printed); lines.Scan(); progress(lines.Text()) {
		passed = passed || strings.HasPrefix(lines.Text(), "--- PASS: "+task.Test+" ")
	}
	if err := cmd.Wait(); err != nil || !passed {
		return nil, fmt.Errorf("%s failed in the guest, or did not run: %v", task.Test, err)
	}
	return nil, nil
}

func init() {
	if guest.IsGuest() {
		guest.Main(playGuest)
	}
	if os.Getenv("CONGCTL_GUEST") == "1" { // congctl beside a day's server
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
}

// needMachine returns a machine of the newest kernel in the cache.
func needMachine(t *testing.T) vm.Machine {
	t.Helper()
	const kernel = "; minimum kernel of the guest 5.10"
	if os.Getenv(labCacheEnv) == "" {
		t.Skip("needs " + labCacheEnv + ", a folder for kernels, and two minutes of two CPUs (tools/check.sh lab)" + kernel)
	}
	if _, _, err := vm.Emulator(t.Context(), vm.Machine{}); err != nil {
		t.Skipf("needs QEMU, and CGO_ENABLED=0 without -race: %v%s", err, kernel)
	}
	k, err := vm.Find(t.Context(), vm.Want{Cache: os.Getenv(labCacheEnv), Fetch: true})
	if err != nil {
		t.Skipf("needs a kernel to boot: %v%s", err, kernel)
	}
	return vm.Machine{Kernel: k, Load: world.Modules(), Wall: 10 * time.Minute}
}

// labRunInto runs `congctl lab run` as a user would and returns its folder's files.
func labRunInto(t *testing.T, scenario string, args ...string) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	args = append([]string{"lab", "run", scenario, "--cache", os.Getenv(labCacheEnv), "--out", dir}, args...)
	var out bytes.Buffer
	if code := run(args, &out, &out); code != exitOK {
		t.Fatalf("congctl %s: exit code %d:\n%s", strings.Join(args, " "), code, &out)
	}
	t.Logf("congctl %s\n%s", strings.Join(args, " "), &out)
	return labFiles(t, dir)
}

// labOfOneOf runs a scenario with the first seed that the gate of loss lets pass, and returns the seed, too. Its
// intervals hold 99 % of honest runs of a scenario, and which seed is the hundredth is another with
// each change of the program: two in a row are one in ten thousand.
func labOfOneOf(t *testing.T, scenario string, args []string, seeds ...string) (files map[string]string, seed string) {
	t.Helper()
	var out bytes.Buffer
	for _, seed := range seeds {
		dir := filepath.Join(t.TempDir(), "out")
		code := run(append([]string{"lab", "run", scenario, "--cache", os.Getenv(labCacheEnv), "--out", dir, "--seed", seed}, args...), &out, &out)
		t.Logf("%s, seed %s: exit code %d", scenario, seed, code)
		switch {
		case code == exitOK:
			return labFiles(t, dir), seed
		case code != exitFailed || strings.Count(out.String(), "; INVALID: ") != strings.Count(out.String(), "; INVALID: loss is "):
			t.Fatalf("%s, seed %s: exit code %d:\n%s", scenario, seed, code, &out)
		}
	}
	t.Fatalf("%s, seeds %s: each has a cell whose loss is outside of its interval:\n%s", scenario, seeds, &out)
	return nil, ""
}

func summaryOf(t *testing.T, b []byte) (s outcome.Summary) {
	t.Helper()
	if err := json.Unmarshal(b, &s); err != nil || len(s.Rows) == 0 {
		t.Fatalf("summary: %v, %d rows", err, len(s.Rows))
	}
	return s
}

// labFiles are a folder's files by name, but for what the run cost in real time.
func labFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	held := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "wall.json" {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		held[name] = string(b)
		return err
	})
	check(t, err)
	return held
}

// busyHost keeps every CPU of the host busy until stop.
func busyHost(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	for range 4 {
		go func() {
			for ctx.Err() == nil {
			}
		}()
	}
	return cancel
}

// quick of seed 1 with all its cells is run once for all tests that look at it.
var quick struct {
	sync.Once
	files map[string]string
}

func quickFiles(t *testing.T) map[string]string {
	t.Helper()
	quick.Do(func() { quick.files, _ = labOfOneOf(t, "quick", nil, "1", "11") })
	if quick.files == nil {
		t.Fatal("quick failed in an earlier test")
	}
	return quick.files
}

// The fast cell has 2,800 packets in a third of a second: there repeats once differed.
const repeatText = `
name: repeat
about: for tests
arms: [cubic, bbr]
matrix:
  kind:
    fast: {path: {rate: 100mbit, rtt: 1ms, buffer: 100p}, flows: [{size: 4MB}]}
    lossy: {path: {rate: 10mbit, rtt: 40ms, loss: 1%, loss_at: before}}
flows:
  - {size: 2MB}
`

// TestLabSameBytes: the same thing run twice, the second time one run after the other on a busy host, gives the
// same files.
func TestLabSameBytes(t *testing.T) {
	needMachine(t)
	file := filepath.Join(t.TempDir(), "repeat.yml")
	check(t, os.WriteFile(file, []byte(repeatText), 0o600))
	cells := []string{"--cells", "fast/cubic|lossy"}
	first, seed := labOfOneOf(t, file, cells, "1", "11")
	stop := busyHost(t)
	busy := labRunInto(t, file, append(cells, "--seed", seed, "--jobs", "1")...)
	stop()
	for name, b := range first {
		if busy[name] != b {
			t.Errorf("%s differs: %d and %d bytes", name, len(b), len(busy[name]))
		}
	}
	if len(first) != len(busy) || len(first) < 8 {
		t.Errorf("%d and %d files", len(first), len(busy))
	}
}

// TestLabOtherSeed: another seed gives other losses, and the same verdict and winner in
// every cell. In User Mode Linux, where it takes a tenth of QEMU's time.
func TestLabOtherSeed(t *testing.T) {
	needProgram(t)
	fast := []string{"--world", worldUML}
	first, _ := labOfOneOf(t, "quick", fast, "1", "11")
	other, _ := labOfOneOf(t, "quick", fast, "2", "3")
	one, two := summaryOf(t, []byte(first["summary.json"])), summaryOf(t, []byte(other["summary.json"]))
	sameAnswers(t, one, two)
	lossy := 0
	for _, c := range one.Scenario.Cells {
		if c.Path.Loss.PPM == 0 {
			continue
		}
		lossy++
		if a, b := resent(t, first, c.ID), resent(t, other, c.ID); slices.Equal(a, b) {
			t.Errorf("%s: the same losses: %v", c.ID, a)
		}
	}
	if lossy != 6 {
		t.Errorf("%d cells with loss", lossy)
	}
}

// resent is how many packets a cell's flow had sent again, sample by sample.
func resent(t *testing.T, files map[string]string, cell string) (counts []uint32) {
	t.Helper()
	for name, text := range files {
		if !strings.HasPrefix(name, "runs/") {
			continue
		}
		var r outcome.Run
		check(t, json.Unmarshal([]byte(text), &r))
		if r.Cell != cell {
			continue
		}
		for _, s := range r.Samples {
			counts = append(counts, s.TotalRetrans)
		}
	}
	if len(counts) == 0 || counts[len(counts)-1] == 0 {
		t.Errorf("%s: nothing was sent again: %v", cell, counts)
	}
	return counts
}

// differ compares what a reader would conclude: which cells are valid, how they stand to
// theory, who wins. It returns "" for the same answers.
func differ(a, b outcome.Summary) string {
	answers := func(s outcome.Summary) (out []string) {
		for _, r := range s.Rows {
			out = append(out, fmt.Sprintf("%s: %d of %d invalid, %s", r.Cell, r.Invalid, r.Runs, r.Theory.Verdict))
		}
		for _, w := range s.Winners {
			out = append(out, fmt.Sprintf("%s: winner %q", w.Group, w.Arm))
		}
		return out
	}
	if x, y := answers(a), answers(b); !slices.Equal(x, y) {
		return fmt.Sprintf("answers differ:\n%s\n\n%s", strings.Join(x, "\n"), strings.Join(y, "\n"))
	}
	return ""
}

func sameAnswers(t *testing.T, a, b outcome.Summary) {
	t.Helper()
	if why := differ(a, b); why != "" {
		t.Error(why)
	}
}

// TestLabBothWorlds runs quick in a machine for each run, and all of it on the kernel
// of one machine, as on a host that has netem. Of three seeds one must give the same answers:
// the gate of loss turns one honest run of a hundred away, and quick has eight.
func TestLabBothWorlds(t *testing.T) {
	m := needMachine(t)
	outside := summaryOf(t, []byte(quickFiles(t)["summary.json"]))
	var why string
	for _, seed := range []uint64{1, 11, 21} {
		var err error
		m.Job, err = json.Marshal(labTask{Seed: seed, Args: []string{"lab", "run", "quick", "--seed", fmt.Sprint(seed), "--world", "netns", "--out", "/quick"}, Keep: "/quick/summary.json"})
		check(t, err)
		in, err := vm.Run(t.Context(), m)
		check(t, err)
		why = differ(outside, summaryOf(t, in.Report))
		t.Logf("inside, seed %d: %s of its clock, %s of ours; %s", seed, in.Times.Ended, in.Wall, why)
		if why == "" {
			return
		}
	}
	t.Error(why)
}
