package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/app/popreport"
	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/core/pop"
	"github.com/congctl/congctl/internal/core/popday"
	"github.com/congctl/congctl/internal/core/popday/popdaytest"
	"github.com/congctl/congctl/internal/core/record"
	"github.com/congctl/congctl/internal/data/sqlite"
	kernelpop "github.com/congctl/congctl/internal/kernel/pop"
)

// TestReportReadsWhatRunsWrite: the report's own view of a run's files has the same keys.
func TestReportReadsWhatRunsWrite(t *testing.T) {
	line, err := json.Marshal(kernelpop.Response{Network: 1, Session: 2, Request: 3, StartUs: 4, FirstUs: 5, EndUs: 6, Asked: 7, Got: 8, Fresh: true, HTTP2: true,
		Cong: "bbr", SentBytes: 10, RetransBytes: 9, MinRTTUs: 11, Trouble: "x"})
	check(t, err)
	all, err := popday.ReadResponses(bytes.NewReader(line), 2)
	check(t, err)
	again, err := json.Marshal(all[0])
	check(t, err)
	if !bytes.Equal(line, again) {
		t.Errorf("%s\n%s", line, again)
	}
	facts, err := json.Marshal(kernelpop.Facts{Day: "a", Policy: "loop", Seed: 1, Kernel: "k", BeganUnixS: 2, DurationUs: 3, BusyShare: 0.4, SoftnetDropped: 5, Responses: 6,
		Large: 7, Broken: 8, SegmentsOut: 9, SegmentsAgain: 10, Networks: []kernelpop.NetworkFacts{{Class: "c", Prefix: "198.18.0.0/24"}}})
	check(t, err)
	f, err := popday.ReadFacts(facts)
	check(t, err)
	v := reflect.ValueOf(f)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s was not read", v.Type().Field(i).Name)
		}
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
		var lines bytes.Buffer
		for _, r := range made.Responses {
			check(t, json.NewEncoder(&lines).Encode(r))
		}
		packed, err := squeezed(lines.Bytes())
		check(t, err)
		for file, body := range map[string][]byte{factsFile: made.Facts, responsesFile: packed, popreport.DayFile: []byte(popdaytest.Day)} {
			check(t, os.WriteFile(filepath.Join(run, file), body, 0o600))
		}
		if made.Loop {
			imaginedStore(t, filepath.Join(run, storeFile), made)
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

// TestLabPopReport: from files to a report, and the runs' folders stay as they are.
func TestLabPopReport(t *testing.T) {
	dir := imaginedRuns(t, "cubic", "bbr", "loop")
	before := labFiles(t, filepath.Join(dir, "loop-1"))
	var out, said bytes.Buffer
	if code := run([]string{"lab", "pop-report", dir}, &out, &said); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &said)
	}
	for _, want := range []string{"POLICY", "lossy 0  trial  the day's end", "yes  c1", filepath.Join(dir, popreport.PageFile)} {
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
	if len(r.Verdicts) < 10 || len(r.Effects) == 0 || len(r.Stories) != 1 {
		t.Errorf("%d verdicts, %d effects, %d loops", len(r.Verdicts), len(r.Effects), len(r.Stories))
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
