package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes files into a folder and returns it.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFaultsOfAnArchitecture: what amd64 compiles and another architecture does not.
func TestFaultsOfAnArchitecture(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a constant beyond int": {map[string]string{"main.go": "package main\n\nfunc main() { println(1 << 40) }\n"}, "overflows"},
		"a name that one file has": {map[string]string{
			"main.go": "package main\n\nfunc main() { f() }\n", "f_amd64.go": "package main\n\nfunc f() {}\n",
		}, "undefined: f"},
		"a field of another type": {map[string]string{
			"main.go": "package main\n\nimport \"syscall\"\n\nfunc main() { var s syscall.Timespec; s.Sec = int64(1); _ = s }\n",
		}, "cannot use int64(1)"},
	} {
		dir := module(t, c.files)
		if n, err := check(dir, "amd64"); err != nil || n < 2 {
			t.Errorf("%s: amd64: %d packages, %v", name, n, err)
		}
		if _, err := check(dir, "arm"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: arm: %v, want %q", name, err, c.want)
		}
	}
}

func TestNoSuchArchitecture(t *testing.T) {
	if _, err := check(module(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"}), "vax"); err == nil {
		t.Error("no error")
	}
}
