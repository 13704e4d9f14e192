package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/popday"
)

// TestFIFOs: no verb waits for a writer of a FIFO, wherever it is given one.
func TestFIFOs(t *testing.T) {
	dir := t.TempDir()
	fifo, conf := filepath.Join(dir, "fifo"), filepath.Join(dir, "congctl.yml")
	check(t, unix.Mkfifo(fifo, 0o600))
	for words, keys := range map[string]string{
		"config check -c FIFO":              "",
		"config check":                      "treatment: {never_file: FIFO}",
		"config show":                       "treatment: {always_file: FIFO}",
		"stop -c FIFO":                      "",
		"records FIFO":                      "",
		"plan validate FIFO":                "",
		"simulate --history FIFO":           "",
		"simulate --policy FIFO":            "",
		"host kernel check --kconfig FIFO":  "",
		"lab run FIFO":                      "",
		"simulate --history /dev/zero":      "",
		"config check -c /dev/zero":         "",
		"lab pop FIFO":                      "",
		"lab verify-kernel FIFO":            "",
		"host kernel check --kconfig /dev/": "",
	} {
		check(t, os.WriteFile(conf, []byte("pop: edge1\nstate_dir: "+dir+"\nsocket: "+dir+"/sock\n"+strings.ReplaceAll(keys, "FIFO", fifo)+"\n"), 0o600))
		args := strings.Fields(strings.ReplaceAll(words, "FIFO", fifo))
		if !strings.Contains(words, " -c ") {
			args = append(args, "-c", conf)
		}
		var out, errs bytes.Buffer
		if code := run(args, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), "not a plain file: a ") {
			t.Errorf("%s: exit code %d: %s%s", words, code, &out, &errs)
		}
	}
}

// TestFIFOInAResult: nor where one stands for a file of a result.
func TestFIFOInAResult(t *testing.T) {
	for verb, file := range map[string]string{"lab report": "manifest.json", "lab pop-report": popday.FactsFile} {
		dir := t.TempDir()
		check(t, unix.Mkfifo(filepath.Join(dir, file), 0o600))
		var out bytes.Buffer
		if code := run(append(strings.Fields(verb), dir), &out, &out); code == exitOK || !strings.Contains(out.String(), "not a plain file: a FIFO") {
			t.Errorf("%s: exit code %d: %s", verb, code, &out)
		}
	}
}
