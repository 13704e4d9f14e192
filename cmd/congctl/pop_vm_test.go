package main

import (
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/popday"
)

// A day of two minutes in windows of five seconds: one network of four is lossy, and
// the loop has time to select it and to treat it for a while. Behind the same line is a
// network with another server.
const shortDay = `
name: short
about: for tests
window: 5s
length: 2m
static: [lossy]
congctl: |
  poll: 1s
  policy: {select: slowest-fifth, min_ranked: 4, min_known: 4, min_samples: 2, group_share: 0.1}
traffic: {fetches: 1.5, large: 130kB-150kB, pages: 0.5, smalls: 1, think: 100ms, http2: 25%}
networks:
  - {name: fibre, count: 3, path: {rate: 20mbit, rtt: 20ms}}
  - {name: lossy, path: {rate: 20mbit, rtt: 60ms, loss: 2%}}
  - {name: neighbour, behind: lossy}
faults:
  - {at: 100s, do: kill}
  - {at: 105s, do: start}
`

// popInto runs the short day as a user would, in the fast world where it is.
func popInto(t *testing.T, policy, seed string) string { return popIn(t, worldAuto, policy, seed) }

func popIn(t *testing.T, world, policy, seed string) string {
	t.Helper()
	dir := t.TempDir()
	file, out := filepath.Join(dir, "short.yml"), filepath.Join(dir, "out")
	check(t, os.WriteFile(file, []byte(shortDay), 0o600))
	args := []string{"lab", "pop", file, "--world", world, "--policy", policy, "--seed", seed, "--cache", os.Getenv(labCacheEnv), "--out", out}
	var said bytes.Buffer
	if code := run(args, &said, &said); code != exitOK {
		t.Fatalf("congctl %s: exit code %d:\n%s", strings.Join(args, " "), code, &said)
	}
	t.Logf("%s: %s", policy, &said)
	return out
}

func responsesOf(t *testing.T, dir string) []popday.Response {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, popday.ResponsesFile))
	check(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	check(t, err)
	all, err := popday.ReadResponses(z, len(factsOf(t, dir).Networks))
	check(t, err)
	return all
}

// TestLabPop: under the loop exactly the lossy network is treated, and all is measured, on a stock kernel and in User Mode Linux. There
// the same seed gives the same folder on a busy host (in QEMU: TestLabSameBytes), and without congctl the same is asked for at the
// same times.
func TestLabPop(t *testing.T) {
	t.Run(worldVM, func(t *testing.T) {
		needMachine(t)
		treatsTheLossy(t, popIn(t, worldVM, policyLoop, "1"))
	})
	t.Run(worldUML, func(t *testing.T) {
		needProgram(t)
		loop := popIn(t, worldUML, policyLoop, "1")
		stop := busyHost(t)
		again := labFiles(t, popIn(t, worldUML, policyLoop, "1"))
		stop()
		for name, b := range labFiles(t, loop) {
			if again[name] != b {
				t.Errorf("%s differs: %d and %d bytes", name, len(b), len(again[name]))
			}
		}
		sameRequests(t, treatsTheLossy(t, loop), responsesOf(t, popIn(t, worldUML, policyCubic, "1")))
	})
}

// treatsTheLossy returns the responses of a short day's folder.
func treatsTheLossy(t *testing.T, dir string) []popday.Response {
	t.Helper()
	files := labFiles(t, dir)
	if log := files[popday.LogFile]; !strings.Contains(log, ", tier good: ") || strings.Contains(log, "alarm") || strings.Count(log, " up: pop ") != 2 {
		t.Errorf("log:\n%s", log)
	}
	if len(files[popday.StoreFile]) < 10_000 {
		t.Errorf("store of %d bytes", len(files[popday.StoreFile]))
	}
	treated := map[int]int{}
	responses := responsesOf(t, dir)
	for _, r := range responses {
		if r.Trouble != "" || r.Got != r.Asked || r.FirstUs < r.StartUs || r.EndUs < r.FirstUs || r.SentBytes < r.Got {
			t.Errorf("%+v", r)
		}
		if r.Cong == "bbr" {
			treated[r.Network]++
		}
	}
	t.Logf("treated responses by network: %v", treated)
	if treated[3] < 3 || len(treated) != 1 {
		t.Errorf("treated responses by network: %v", treated)
	}
	return responses
}

// sameRequests: what is asked for does not depend on the policy. A slow session may
// have its last requests still before it when the day ends.
func sameRequests(t *testing.T, loop, plain []popday.Response) {
	t.Helper()
	type key struct{ session, request int }
	asked := map[key]popday.Response{}
	for _, r := range loop {
		asked[key{int(r.Session), int(r.Request)}] = r
	}
	common := 0
	for _, r := range plain {
		if r.Cong != "cubic" {
			t.Errorf("without congctl: %+v", r)
		}
		o, ok := asked[key{int(r.Session), int(r.Request)}]
		if !ok {
			continue // counted below
		}
		common++
		if r.Asked != o.Asked || r.Network != o.Network || r.HTTP2 != o.HTTP2 {
			t.Errorf("%+v\n%+v", r, o)
		}
	}
	if most := max(len(loop), len(plain)); common < most-most/50 {
		t.Errorf("%d and %d responses, %d of them to the same requests", len(loop), len(plain), common)
	}
}

// TestLabPopSideBySide: several runs of a day are kept one by one, whatever becomes of the
// others, and are not run again.
func TestLabPopSideBySide(t *testing.T) {
	needMachine(t)
	dir := t.TempDir()
	file, out := filepath.Join(dir, "short.yml"), filepath.Join(dir, "out")
	check(t, os.WriteFile(file, []byte(shortDay), 0o600))
	lab := func(code int, more ...string) string {
		t.Helper()
		var said bytes.Buffer
		args := append([]string{"lab", "pop", file, "--cache", os.Getenv(labCacheEnv), "--out", out, "--length", "10s"}, more...)
		if got := run(args, &said, &said); got != code {
			t.Fatalf("congctl %s: exit code %d:\n%s", strings.Join(args, " "), got, &said)
		}
		return said.String()
	}
	said := lab(exitFailed, "--policy", "cubic,bbr", "--limit", "1ms")
	if strings.Count(said, "FAILED: run guest: guest hung") != 2 || !strings.Contains(said, "\ntry: congctl lab pop ") || !strings.Contains(said, " --policy=cubic,bbr --resume\n") {
		t.Errorf("hung:\n%s", said)
	}
	lab(exitOK, "--policy", "cubic,bbr")
	for _, r := range responsesOf(t, filepath.Join(out, "bbr-1")) {
		if (r.Cong == "bbr") != (r.Network < 4) {
			t.Errorf("under all-BBR, where the neighbours' server stays on CUBIC: %+v", r)
		}
	}
	before := labFiles(t, out)
	said = lab(exitOK, "--policy", "bbr,cubic", "--resume")
	if after := labFiles(t, out); !maps.Equal(before, after) || len(after) != 2*4+3 || strings.Count(said, "kept from before") != 2 {
		t.Errorf("%d files, then %d:\n%s", len(before), len(after), said)
	}
	if said = lab(exitUsage, "--policy", "cubic,bbr"); !strings.Contains(said, "is not empty") {
		t.Errorf("a folder that is taken: %s", said)
	}
	if said = lab(exitUsage, "--policy", "cubic,bbr", "--resume", "--length", "5s"); !strings.Contains(said, "would not be comparable") {
		t.Errorf("another day: %s", said)
	}
}
