package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
)

// planted is a journal by which an undo would write a file of somebody's choice: its plan has
// a file with that text as the old value, and what is there now as the new one.
func planted(t *testing.T, dir, target string) {
	t.Helper()
	check(t, os.MkdirAll(dir, 0o755))
	check(t, os.WriteFile(target, []byte("theirs\n"), 0o644))
	own := func(text string) change.Value {
		v := change.FileText(text)
		v.UID, v.GID = uint32(os.Geteuid()), uint32(os.Getegid())
		return v
	}
	boot := "b"
	e := carry.New(carry.Options{Disk: carry.HostDisk{Root: "/"}, Dir: dir, Boot: boot})
	_, err := e.Adopt(change.Plan{
		Header: change.Header{ID: "000001-host", Subject: "host", Verb: "host enable bbr", At: time.Unix(1_795_000_000, 0).UTC(), Boot: boot, Machine: "m"},
		Steps:  []change.Step{{Kind: change.File, Target: target, Old: own("evil\n"), New: own("theirs\n"), Why: "x"}},
	})
	check(t, err)
}

// TestPlantedJournal: what a journal says that others could have written is not done, and change
// shows it and sets it aside, after a question.
func TestPlantedJournal(t *testing.T) {
	top := t.TempDir()
	check(t, os.Chmod(top, 0o755))
	dir, target := filepath.Join(top, "changes"), filepath.Join(top, "target")
	planted(t, dir, target)
	journal := filepath.Join(dir, "000001-host.journal")
	is := func(step, want string, code int, words ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if got := run(append(words, "--changes", dir), &out, &errs); got != code || !strings.Contains(out.String()+errs.String(), want) {
			t.Errorf("%s: exit code %d, %s%s, want %d and %s", step, got, &out, &errs, code, want)
		}
		if text, err := os.ReadFile(target); err != nil || string(text) != "theirs\n" {
			t.Errorf("%s: the target has %q, %v", step, text, err)
		}
	}
	is("a good one", "applied  host enable bbr", exitOK, "change", "list")
	check(t, os.Chmod(dir, 0o777))
	is("a directory of all", "chmod go-w "+dir, exitFailed, "host", "disable")
	is("its list", "chmod go-w "+dir, exitFailed, "change", "list")
	check(t, os.Chmod(dir, 0o755))
	check(t, os.Chmod(journal, 0o666))
	is("a journal of all", "chmod go-w "+journal, exitFailed, "host", "disable")
	is("its list", "unusable", exitOK, "change", "list")
	is("unasked", "set aside 000001-host? it is unusable", exitRefused, "change", "forget", "000001-host")
	is("another one", "no such journal", exitNotFound, "change", "forget", "000002-host")
	is("set aside", journal+".forgotten", exitOK, "change", "forget", "000001-host", "--yes")
	is("nothing left", "nothing to undo", exitNotFound, "host", "disable")
}
