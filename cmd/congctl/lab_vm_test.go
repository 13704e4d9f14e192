package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/kernel/guest"
	"github.com/congctl/congctl/internal/kernel/vm"
	"github.com/congctl/congctl/internal/kernel/world"
)

// The lab on a real kernel, with this test binary as the guest's first process. It
// needs no root:
//
//	CONGCTL_LAB_CACHE=../../.cache/lab CGO_ENABLED=0 go test -run '^TestLab' ./cmd/congctl
const labCacheEnv = "CONGCTL_LAB_CACHE"

// labTask is what a test asks of a guest besides a world's job: a command line of
// congctl, and the file to hand back.
type labTask struct {
	Seed uint64   `json:"seed"`
	Args []string `json:"args"`
	Keep string   `json:"keep"`
}

func playGuest(job []byte, progress func(string)) ([]byte, error) {
	var task labTask
	if err := json.Unmarshal(job, &task); err != nil || task.Args == nil {
		return world.RunJob(job, progress)
	}
	var out bytes.Buffer
	code := run(task.Args, &out, &out)
	b, err := os.ReadFile(task.Keep)
	if err != nil {
		return nil, fmt.Errorf("congctl %v ended with %d: %w:\n%s", task.Args, code, err, &out)
	}
	return b, nil
}

func init() {
	if guest.IsGuest() {
		guest.Main(playGuest)
	}
}

// needMachine gives a machine of the newest kernel in the cache.
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

// labRunInto runs `congctl lab run` as a user would and gives its folder.
func labRunInto(t *testing.T, dir string, args ...string) string {
	t.Helper()
	args = append([]string{"lab", "run", "quick", "--cache", os.Getenv(labCacheEnv), "--out", dir}, args...)
	var out bytes.Buffer
	if code := run(args, &out, &out); code != exitOK {
		t.Fatalf("congctl %s: exit code %d:\n%s", strings.Join(args, " "), code, &out)
	}
	t.Logf("congctl %s\n%s", strings.Join(args, " "), &out)
	return dir
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

// TestLabSameBytes: the same thing run three times, once on a busy host, gives the
// same files. Another seed gives other losses, and the same answer.
func TestLabSameBytes(t *testing.T) {
	needMachine(t)
	tmp := t.TempDir()
	const cells = "loss=1%"
	first := labFiles(t, labRunInto(t, filepath.Join(tmp, "a"), "--cells", cells))
	again := labFiles(t, labRunInto(t, filepath.Join(tmp, "b"), "--cells", cells, "--jobs", "1"))
	stop := busyHost(t)
	busy := labFiles(t, labRunInto(t, filepath.Join(tmp, "c"), "--cells", cells))
	stop()
	for name, b := range first {
		if again[name] != b || busy[name] != b {
			t.Errorf("%s differs: %d, %d and %d bytes", name, len(b), len(again[name]), len(busy[name]))
		}
	}
	if len(first) != len(again) || len(first) != len(busy) || len(first) < 8 {
		t.Errorf("%d, %d and %d files", len(first), len(again), len(busy))
	}
	other := labFiles(t, labRunInto(t, filepath.Join(tmp, "d"), "--cells", cells, "--seed", "2"))
	if other["results.jsonl"] == first["results.jsonl"] {
		t.Error("another seed gives the same losses")
	}
	sameAnswers(t, summaryOf(t, []byte(first["summary.json"])), summaryOf(t, []byte(other["summary.json"])))
}

// sameAnswers compares what a reader would conclude: which cells are valid, how they
// stand to theory, who wins.
func sameAnswers(t *testing.T, a, b outcome.Summary) {
	t.Helper()
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
		t.Errorf("answers differ:\n%s\n\n%s", strings.Join(x, "\n"), strings.Join(y, "\n"))
	}
}

// TestLabBothWorlds runs quick in a machine for each run, and all of it on the kernel
// of one machine, as on a host that has netem.
func TestLabBothWorlds(t *testing.T) {
	m := needMachine(t)
	var err error
	m.Job, err = json.Marshal(labTask{Seed: 1, Args: []string{"lab", "run", "quick", "--world", "netns", "--out", "/quick"}, Keep: "/quick/summary.json"})
	check(t, err)
	type ended struct {
		out vm.Outcome
		err error
	}
	inside := make(chan ended, 1)
	go func() {
		out, err := vm.Run(t.Context(), m)
		inside <- ended{out, err}
	}()
	outside := labFiles(t, labRunInto(t, filepath.Join(t.TempDir(), "quick")))
	in := <-inside
	if in.err != nil {
		t.Fatal(in.err)
	}
	t.Logf("inside: %s of its clock, %s of ours", in.out.Times.Ended, in.out.Wall)
	sameAnswers(t, summaryOf(t, []byte(outside["summary.json"])), summaryOf(t, in.out.Report))
}
