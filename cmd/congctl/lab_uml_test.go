package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/kernel/uml"
	"github.com/congctl/congctl/internal/lab/kernel/vm"
)

// needProgram skips without a kernel that is a program. CI builds one (tools/check.sh lab).
func needProgram(t *testing.T) {
	t.Helper()
	needMachine(t)
	if _, ok := uml.Cached(os.Getenv(labCacheEnv)); !ok {
		t.Skip("needs a kernel of `congctl lab kernel build` in " + labCacheEnv + ", Linux 6.12")
	}
}

// programMachine is a machine of that kernel.
func programMachine(t *testing.T) vm.Machine {
	t.Helper()
	needProgram(t)
	built, _ := uml.Cached(os.Getenv(labCacheEnv))
	return vm.Machine{Kernel: vm.Kernel{Image: built.Path, Program: true, Release: built.Release}, Wall: 10 * time.Minute}
}

// TestLabKernelBuild: what is built is named with its checksums, and not built again.
func TestLabKernelBuild(t *testing.T) {
	needProgram(t)
	var out, said bytes.Buffer
	if code := run([]string{"lab", "kernel", "build", "--cache", os.Getenv(labCacheEnv), "-o", "json"}, &out, &said); code != exitOK || said.Len() > 0 {
		t.Fatalf("exit code %d:\n%s", code, &said)
	}
	var k builtKernel
	check(t, json.Unmarshal(out.Bytes(), &k))
	if _, err := os.Stat(k.Path); err != nil || !strings.HasPrefix(k.Release, "6.12.") || len(k.SHA256) != 64 || !strings.Contains(k.Path, strings.Fields(k.Source)[1]) {
		t.Errorf("%+v, %v", k, err)
	}
}

// TestLabUML: runs side by side on a busy host, from folders and with environments of other
// lengths, have the same bytes; each names its kernel. What a reader would conclude is what
// QEMU says.
func TestLabUML(t *testing.T) {
	needProgram(t)
	first := labRunInto(t, "quick", "--world", "uml")
	stop := busyHost(t)
	t.Setenv("CONGCTL_TEST_PADDING", strings.Repeat("x", 1000))
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	busy := labRunInto(t, "quick", "--world", "uml", "--jobs", "1")
	stop()
	for name, b := range first {
		if busy[name] != b {
			t.Errorf("%s differs: %d and %d bytes", name, len(b), len(busy[name]))
		}
	}
	if !strings.Contains(first["manifest.json"], `"source": "linux-source-6.12 `) || !strings.Contains(first["manifest.json"], `"world": "uml"`) {
		t.Errorf("manifest:\n%s", first["manifest.json"])
	}
	sameAnswers(t, summaryOf(t, []byte(first["summary.json"])), summaryOf(t, []byte(quickFiles(t)["summary.json"])))
}

// TestWorldUMLMistakes: each says what to do.
func TestWorldUMLMistakes(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"--world uml --cache " + empty, "run congctl lab kernel build"},
		{"--world uml --kernel bzImage", "--world uml runs the kernel of `congctl lab kernel build`; leave them out, or use --world vm"},
		{"--world fast", `--world "fast": use vm, uml, auto or netns`},
	} {
		var out bytes.Buffer
		args := append([]string{"lab", "run", "quick", "--out", filepath.Join(empty, "out")}, strings.Fields(c.args)...)
		if code := run(args, &out, &out); code != exitUsage || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit code %d: %s", c.args, code, &out)
		}
	}
}

// TestLabCompareWorlds: both worlds agree on cells of which one is lossy; a second run
// continues the folders and runs nothing.
func TestLabCompareWorlds(t *testing.T) {
	needProgram(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "repeat.yml")
	check(t, os.WriteFile(file, []byte(repeatText), 0o600))
	for range 2 {
		var out, said bytes.Buffer
		if code := run([]string{"lab", "compare", "--worlds", file, "--seeds", "3", "--cells", "fast", "--out", dir, "--cache", os.Getenv(labCacheEnv)}, &out, &said); code != exitOK {
			t.Fatalf("exit code %d:\n%s%s", code, &out, &said)
		}
		if !strings.Contains(out.String(), "differs in world: vm, uml\n") || !strings.Contains(out.String(), "same within 5 %") {
			t.Errorf("%s", &out)
		}
	}
	for _, world := range []string{worldVM, worldUML} {
		if _, err := os.Stat(filepath.Join(dir, "repeat."+world+".lab", "report.html")); err != nil {
			t.Error(err)
		}
	}
}
