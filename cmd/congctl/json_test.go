package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/host/kconfig"
	"github.com/congctl/congctl/internal/host/kernel/paperhosttest"
)

// answering are verbs that answer without root or a machine, and for a list the key of
// each element that begins its row of the table.
var answering = []struct{ words, rows string }{
	{"sockets", ""},
	{"sockets --summary", ""},
	{"prefixes", "prefix"},
	{"prefixes --selected", "prefix"},
	{"explain 203.0.113.0/24", ""},
	{"rounds", "round_start_unix_s"},
	{"events", "at_unix_s"},
	{"effect", ""},
	{"plan show", ""},
	{"plan diff", ""},
	{"plan history", "created_unix_s"},
	{"plan validate plan.txt", ""},
	{"plan export --at 2026-11-20T12:10:00Z", ""},
	{"plan freeze", ""},
	{"plan unfreeze", ""},
	{"stop", ""},
	{"resume", ""},
	{"status", ""},
	{"top --once", ""},
	{"records records-20261120T080000.000Z.pb", ""},
	{"config check", ""},
	{"config show", ""},
	{"simulate", "round_start_unix_s"},
	{"lab list", "name"},
	{"shape show", ""},
	{"change list --changes nosuch", ""},
	{"version", ""},
	{"host check", ""},
	{"host check --evidence", ""},
	{"host enable bbr --dry-run", ""},
	{"host kernel check --kconfig config", ""},
	{"host kernel fragment --for generic", ""},
}

// shown are further types of answers, which are walked.
var shown = []reflect.Type{
	reflect.TypeFor[[]kconfig.Difference](), reflect.TypeFor[Done](), reflect.TypeFor[PlanCheck](), reflect.TypeFor[ConfigCheck](),
}

// TestJSONConvention runs every verb that answers with each format, asking the store and
// asking a running congctl.
func TestJSONConvention(t *testing.T) {
	db := docsDB(t)
	onHost(t, paperhosttest.Load(t, "debian12"))
	for name, on := range map[string]bool{"stored": false, "running": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, db)
			s.withRunning(t, on, func() {
				answeringFiles(t, s)
				for _, a := range answering {
					checkAnswer(t, s, strings.Fields(a.words), a.rows)
				}
			})
		})
	}
}

// answeringFiles are those that the invocations name.
func answeringFiles(t *testing.T, s *stage) {
	t.Helper()
	for name, text := range map[string][]byte{
		"config": []byte("# Linux/x86 6.1.0 Kernel Configuration\nCONFIG_TCP_CONG_BBR=m\n"), "plan.txt": []byte(s.congctl(t, command{args: []string{"plan", "show"}})),
	} {
		check(t, os.WriteFile(name, text, 0o600))
	}
}

func checkAnswer(t *testing.T, s *stage, words []string, rows string) {
	t.Helper()
	ask := func(format string) string {
		answer, _, _ := strings.Cut(s.congctl(t, command{args: append(slices.Clone(words), "-o", format)}), "congctl: ") // standard error
		return answer
	}
	table, whole, lines := ask("table"), ask("json"), ask("jsonl")
	var v any
	if err := json.Unmarshal([]byte(whole), &v); err != nil {
		t.Errorf("%s: -o json is no single value: %v\n%.300s", words, err, whole)
		return
	}
	for _, fault := range jsonFaults(v) {
		t.Errorf("%s: %s", words, fault)
	}
	each, ok := v.([]any)
	if !ok {
		each = []any{v}
	}
	got := decodedLines(lines)
	// Some answers have the time, and its second may change between the two.
	for tries := 3; !ok && tries > 0 && !reflect.DeepEqual(got, each); tries-- {
		whole, lines = ask("json"), ask("jsonl")
		check(t, json.Unmarshal([]byte(whole), &v))
		got, each = decodedLines(lines), []any{v}
	}
	if words[0] != "sockets" && !reflect.DeepEqual(got, each) {
		t.Errorf("%s: -o jsonl has %d lines, not the %d elements of -o json:\n%.300s", words, len(got), len(each), lines)
	}
	if rows != "" {
		checkOrder(t, words, table, rows, each)
	}
}

func decodedLines(text string) []any {
	all := []any{}
	for line := range strings.Lines(text) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			v = err
		}
		all = append(all, v)
	}
	return all
}

// checkOrder finds each element at the beginning of a row, one row after the other.
func checkOrder(t *testing.T, words []string, table, key string, each []any) {
	t.Helper()
	if len(each) < 2 {
		t.Errorf("%s: %d elements have no order", words, len(each))
	}
	at := 0
	for i, e := range each {
		begin := fmt.Sprint(e.(map[string]any)[key])
		if n, ok := e.(map[string]any)[key].(float64); ok {
			begin = time.Unix(int64(n), 0).UTC().Format("2006-01-02T15:04:05Z")
		}
		next := strings.Index(table[at:], "\n"+begin+" ")
		if next < 0 {
			t.Errorf("%s: element %d, %s, is not in its place in the table", words, i, begin)
			return
		}
		at += next + 1
	}
}

// TestAnswersKeepTheConvention walks the types, so that keys count which no test's answer
// has, and answers which no test gets.
func TestAnswersKeepTheConvention(t *testing.T) {
	all := slices.AppendSeq(slices.Clone(shown), maps.Values(elsewhere))
	for _, types := range answers {
		all = append(all, types...)
	}
	for _, typ := range all {
		for name, v := range map[string]reflect.Value{"zero": reflect.Zero(typ), "full": specimen(typ, nil)} {
			var b bytes.Buffer
			var decoded any
			check(t, answer.JSON(&b, answer.FormatJSON, v.Interface()))
			check(t, json.Unmarshal(b.Bytes(), &decoded))
			for _, fault := range jsonFaults(decoded) {
				t.Errorf("%v, %s: %s", typ, name, fault)
			}
		}
	}
}

// specimen makes a value with one element in each list and something behind each pointer.
func specimen(t reflect.Type, inside []reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	if slices.Contains(inside, t) {
		return v
	}
	switch inside = append(inside, t); t.Kind() {
	case reflect.Slice:
		v = reflect.Append(v, specimen(t.Elem(), inside))
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(specimen(t.Elem(), inside))
	case reflect.Struct:
		for i := range t.NumField() {
			if v.Field(i).CanSet() && t.Field(i).Type != reflect.TypeFor[json.RawMessage]() {
				v.Field(i).Set(specimen(t.Field(i).Type, inside))
			}
		}
	}
	return v
}

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// nullable are numbers that an answer may not be able to tell.
var nullable = []string{"helped_in_force", "helped_in_force_traffic", "releases_per_helped", "start_to_selection_hours_p50",
	"selection_to_promotion_hours_p50", "selection_to_promotion_hours_p90", "harmed_hours", "ratio"}

// keptTimes are keys that stores have, too (docs/format/json.md).
var keptTimes = []string{"since", "round_start", "window_start", "run_end", "evidence_from", "cooling_until", "start", "end",
	"performance_window_start"}

// amounts are what no time is, however large: a socket of this machine may have any.
var amounts = regexp.MustCompile(`(^|_)(bytes|rate|segs)(_|$)|_us$`)

// jsonFaults says what in a decoded answer is against docs/format/json.md.
func jsonFaults(v any) (faults []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			faults = append(faults, jsonFaults(e)...)
		}
	case map[string]any:
		for key, e := range v {
			faults = append(faults, keyFaults(key, e)...)
			if e != nil {
				faults = append(faults, jsonFaults(e)...)
			}
		}
	case nil:
		faults = append(faults, "null")
	}
	return faults
}

func keyFaults(key string, e any) (faults []string) {
	n, number := e.(float64)
	switch {
	case !snakeCase.MatchString(key):
		faults = append(faults, fmt.Sprintf("key %q is not snake_case", key))
	case strings.Contains(key, "killed"):
		faults = append(faults, fmt.Sprintf("key %q: the word is stopped", key))
	case e == nil && !slices.Contains(nullable, key):
		faults = append(faults, fmt.Sprintf("%q is null", key))
	case number && n > 1.5e9 && n < 2.1e9 && n == float64(int64(n)) && !strings.HasSuffix(key, "_unix_s") && !amounts.MatchString(key) && !slices.Contains(keptTimes, key):
		faults = append(faults, fmt.Sprintf("%q is %.0f, a time: its key ends in _unix_s", key, n))
	}
	return faults
}

// TestJSONFaultsAreFound: a walk that finds nothing proves nothing.
func TestJSONFaultsAreFound(t *testing.T) {
	for text, want := range map[string]int{
		`[{"a_b":[],"c":1}]`: 0, `[null]`: 1, `{"aB":1}`: 1, `{"a":null}`: 1, `{"a":{"killed":true}}`: 1, `{"at":1795165200}`: 1,
		`{"at_unix_s":1795165200}`: 0, `{"delivery_rate":1795165200}`: 0, `{"generated":1795165200}`: 1, `{"ratio":null}`: 0, `{"ratio":[null]}`: 1,
	} {
		var v any
		check(t, json.Unmarshal([]byte(text), &v))
		if got := jsonFaults(v); len(got) != want {
			t.Errorf("%s: %q, wanted %d faults", text, got, want)
		}
	}
	var out bytes.Buffer
	if code := run([]string{"lab", "list", "-o", "yaml"}, io.Discard, &out); code != exitUsage {
		t.Errorf("-o yaml: exit code %d: %s", code, out.String())
	}
}
