package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/kernel/popworld"
	"github.com/congctl/congctl/internal/popday/pop"
	"github.com/congctl/congctl/internal/popday/popdaytest"
	"github.com/congctl/congctl/internal/popday/popreport"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestReportReadsWhatRunsWrite: networks with their counters in a run's facts are the report's.
func TestReportReadsWhatRunsWrite(t *testing.T) {
	prefix, err := record.ParsePrefix("198.18.0.0/24")
	check(t, err)
	n := popday.NetworkFacts{Class: "c", Prefix: prefix}
	facts, err := json.Marshal(popworld.Facts{Facts: popday.Facts{Policy: "loop", Seed: 1, Responses: 6},
		Networks: []popworld.NetworkFacts{{NetworkFacts: n, Path: popworld.PathCount{Packets: 7}}}})
	check(t, err)
	f, err := popday.ReadFacts(facts)
	check(t, err)
	if f.Responses != 6 || len(f.Networks) != 1 || f.Networks[0] != n {
		t.Errorf("%s is read as %+v", facts, f)
	}
}

// imaginedRuns writes runs whose truth is known, with a real store.
func imaginedRuns(t *testing.T, policies ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	d, err := pop.Parse("imagined.yml", []byte(popdaytest.Day))
	check(t, err)
	for i, name := range policies {
		made := popdaytest.Imagine(d, 1, uint64(i), name, popdaytest.Truth{"lossy": 2.5})
		run := filepath.Join(dir, name+"-1")
		check(t, os.Mkdir(run, 0o755))
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		for _, r := range made.Responses {
			check(t, json.NewEncoder(z).Encode(r))
		}
		check(t, z.Close())
		for file, body := range map[string][]byte{popday.FactsFile: made.Facts, popday.ResponsesFile: packed.Bytes(), popday.DayFile: []byte(popdaytest.Day)} {
			check(t, os.WriteFile(filepath.Join(run, file), body, 0o600))
		}
		if made.Loop {
			imaginedStore(t, filepath.Join(run, popday.StoreFile), made)
		}
	}
	return dir
}

func imaginedStore(t *testing.T, path string, made *popdaytest.Run) {
	t.Helper()
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{CreatedBy: "a test", At: time.Unix(popdaytest.Began, 0)})
	check(t, err)
	check(t, s.SetSetting(context.Background(), journal.SettingSalt, popdaytest.Salt))
	rows := map[int64][]record.Window{}
	for _, w := range made.Windows {
		rows[w.Start] = append(rows[w.Start], w)
	}
	for i := range made.Rounds {
		r := &made.Rounds[i]
		c := journal.Commit{Closed: true, Start: r.Window, Rows: rows[r.Window], Round: r}
		for _, e := range made.Events {
			if e.At == r.RoundStart {
				c.Events = append(c.Events, e)
			}
		}
		check(t, s.CommitRound(context.Background(), &c))
	}
	check(t, s.Close())
}

// TestLabPopReport: from files to a report, also of the selection that is the default by now, and the runs' folders stay as they are.
func TestLabPopReport(t *testing.T) {
	dir := imaginedRuns(t, "cubic", "bbr", "loop", "benefit-cap")
	before := labFiles(t, filepath.Join(dir, "loop-1"))
	var out, said bytes.Buffer
	if code := run([]string{"lab", "pop-report", dir}, &out, &said); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &said)
	}
	for _, want := range []string{"Slow on CUBIC", "lossy (3)", "still on trial", "all BBR", filepath.Join(dir, popreport.PageFile)} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, &out)
		}
	}
	if after := labFiles(t, filepath.Join(dir, "loop-1")); !reflect.DeepEqual(before, after) {
		t.Error("the run's folder was changed")
	}
	out.Reset()
	if code := run([]string{"lab", "pop-report", dir, "-o", "json"}, &out, &said); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &said)
	}
	var r popday.Report
	check(t, json.Unmarshal(out.Bytes(), &r))
	if len(r.Expected) < 10 || len(r.Effects) == 0 || len(r.Stories) != 2 {
		t.Errorf("%d expectations, %d effects, %d loops", len(r.Expected), len(r.Effects), len(r.Stories))
	}
	for _, file := range []string{popreport.PageFile, popreport.MarkdownFile, popreport.JSONFile} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	said.Reset()
	if code := run([]string{"lab", "pop-report", t.TempDir()}, &out, &said); code != exitUsage || !strings.Contains(said.String(), "congctl lab pop writes them") {
		t.Errorf("an empty folder: exit code %d: %s", code, &said)
	}
}
