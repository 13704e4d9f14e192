package main

import (
	"cmp"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/kernel/uml"
	"github.com/congctl/congctl/internal/lab/kernel/vm"
)

// TestLabChaos is TestChaos on a machine of its own, whose clock it may set: by ten minutes, and
// by a year. Half an hour there takes a minute here.
func TestLabChaos(t *testing.T) {
	needProgram(t)
	built, _ := uml.Cached(os.Getenv(labCacheEnv))
	job, err := json.Marshal(labTask{Seed: 1, Test: "TestChaos", Env: []string{chaosEnv + "=" + cmp.Or(os.Getenv(chaosEnv), "1m"), chaosSeedEnv + "=" + cmp.Or(os.Getenv(chaosSeedEnv), "1"), chaosClockEnv + "=1"}})
	check(t, err)
	out, err := vm.Run(t.Context(), vm.Machine{
		Kernel: vm.Kernel{Image: built.Path, Program: true, Release: built.Release}, Job: job, MemoryMB: 1024, CPUTakesTime: true, Wall: time.Hour,
		Progress: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatalf("%v\nconsole:\n%s", err, out.Console)
	}
	t.Logf("%s: %s in %s", built.Release, out.Times.Ended, out.Wall)
}
