package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestPlanValidateTakesFiles: a number is a file's name there, and no serial.
func TestPlanValidateTakesFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	if code := run([]string{"plan", "validate", "17"}, &out, &out); code != exitUsage || !strings.Contains(out.String(), "read plan: open 17: no such file") {
		t.Errorf("exit code %d: %s", code, &out)
	}
}
