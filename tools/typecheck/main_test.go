package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: what fits into an int of 64 bits alone, a file for another architecture, an import.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":     "module example.com/m\n\ngo 1.26\n",
		"m.go":       "package m\n\nimport \"strings\"\n\nfunc F() string { return strings.Repeat(word, times) }\n",
		"m_arm.go":   "package m\n\nconst word, times = \"a\", 1 << 40\n",
		"m_amd64.go": "package m\n\nconst word, times = \"a\", 1 << 40\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	if err := check("amd64", []string{"./..."}); err != nil {
		t.Error(err)
	}
	if err := check("arm", []string{"./..."}); err == nil || !strings.Contains(err.Error(), "m.go:5") || !strings.Contains(err.Error(), "overflows") {
		t.Errorf("arm: %v", err)
	}
	if err := check("riscv64", []string{"./..."}); err == nil || !strings.Contains(err.Error(), "undefined: times") {
		t.Errorf("riscv64: %v", err)
	}
	if err := check("arm7", nil); err == nil {
		t.Error("an architecture that there is not")
	}
}
