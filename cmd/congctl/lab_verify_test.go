package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/congctl/congctl/internal/lab/proof"
)

// TestLabVerifyKernel: a distribution's kernel is proven; the same one without BBR's
// module is not, and the first step says why.
func TestLabVerifyKernel(t *testing.T) {
	k := needMachine(t).Kernel
	for _, tc := range []struct {
		name, modules string
		code          int
		steps         []bool // each one's verdict
	}{
		{"as it is", k.Modules, exitOK, []bool{true, true, true, true, true}},
		{"without BBR", modulesWithout(t, k.Modules, "tcp_bbr.ko*"), exitFailed, []bool{false, false, false, false}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run([]string{"lab", "verify-kernel", k.Image, "--modules", tc.modules, "-o", "json"}, &out, &errs); code != tc.code {
				t.Fatalf("exit code %d, want %d: %s%s", code, tc.code, &out, &errs)
			}
			var r proof.Report
			check(t, json.Unmarshal(out.Bytes(), &r))
			t.Logf("%s%s", &out, &errs)
			if r.Release != k.Release || r.Proven != (tc.code == exitOK) || len(r.Steps) != len(tc.steps) {
				t.Fatalf("%+v", r)
			}
			for i, ok := range tc.steps {
				if r.Steps[i].OK != ok {
					t.Errorf("step %s: %v, want %v", r.Steps[i].Step, r.Steps[i].OK, ok)
				}
			}
			if r.Proven && (r.Ratio == nil || *r.Ratio < 1.5) {
				t.Errorf("BBR is worth %v times CUBIC's goodput at 2 %% loss; the published tables have 2 and more", r.Ratio)
			}
		})
	}
}

// modulesWithout links a kernel's modules into a folder of their own, but for those of
// this name.
func modulesWithout(t *testing.T, from, name string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(from))
	check(t, fs.WalkDir(os.DirFS(from), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, p), 0o755)
		}
		if left, err := filepath.Match(name, d.Name()); err != nil || left {
			return err
		}
		abs, err := filepath.Abs(filepath.Join(from, p))
		if err != nil {
			return err
		}
		return os.Symlink(abs, filepath.Join(to, p))
	}))
	return to
}
