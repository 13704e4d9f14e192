package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fields calls f for every number, switch and list of rules, by its name in a file.
func fields(v reflect.Value, path string, f func(name string, v reflect.Value, tag reflect.StructTag)) {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		name := path + tag.Get("yaml")
		if v.Field(i).Kind() == reflect.Struct {
			fields(v.Field(i), name+".", f)
			continue
		}
		f(name, v.Field(i), tag)
	}
}

func TestDefaultRules(t *testing.T) {
	if err := DefaultRules().Validate(); err != nil {
		t.Fatal(err)
	}
	fields(reflect.ValueOf(DefaultRules()), "", func(name string, _ reflect.Value, tag reflect.StructTag) {
		inJSON, _, _ := strings.Cut(tag.Get("json"), ",")
		if tag.Get("yaml") == "" || tag.Get("yaml") != inJSON {
			t.Errorf("%s: yaml %q, json %q", name, tag.Get("yaml"), tag.Get("json"))
		}
	})
}

// TestNoNumberIsUnchecked: NaN, infinity and a negative number are refused in every field, and the message names the field.
func TestNoNumberIsUnchecked(t *testing.T) {
	r := DefaultRules()
	fields(reflect.ValueOf(&r).Elem(), "", func(name string, v reflect.Value, _ reflect.StructTag) {
		var bad []reflect.Value
		switch v.Kind() {
		case reflect.Float64:
			bad = []reflect.Value{reflect.ValueOf(math.NaN()), reflect.ValueOf(-1.0), reflect.ValueOf(math.Inf(1))}
		case reflect.Int, reflect.Int64:
			bad = []reflect.Value{reflect.ValueOf(-1).Convert(v.Type())}
		}
		saved := reflect.ValueOf(v.Interface())
		for _, b := range bad {
			v.Set(b)
			if err := r.Validate(); err == nil || !strings.Contains(err.Error(), name+" ") {
				t.Errorf("%s = %v: %v", name, b, err)
			}
		}
		v.Set(saved)
	})
}

func TestNewRefusesBadRules(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), "min_samples 0") {
			t.Errorf("recovered %v", err)
		}
	}()
	r := DefaultRules()
	r.MinSamples = 0
	byLevel(r)
}

// TestLoweredCap: with a smaller cap than the plan holds, those with the weakest
// reason leave.
func TestLoweredCap(t *testing.T) {
	r := cityRules()
	r.Guards.Never, r.MaxNewPerRound, r.MaxSelected = nil, 10, 10
	small := r
	small.MaxSelected = 3
	a, b := byLevel(r), byLevel(small)
	rows := crowd(40, 0)
	for w := range int64(8) {
		in := shift(rows, noon+300*w)
		b.Replay(in, a.Round(in).Memory())
	}
	in := shift(rows, noon+300*8)
	before, after := a.Round(in), b.Round(in)
	if before.Selected != 8 || after.Selected != 3 || after.Released != 5 {
		t.Fatalf("selected %d, then %d with %d released", before.Selected, after.Selected, after.Released)
	}
	for _, s := range after.Selection {
		for _, ev := range after.Events {
			if ev.Evidence.PerfBytesPerS < s.PerfBytesPerS {
				t.Errorf("%s at %.0f left, %s at %.0f stayed", ev.Prefix, ev.Evidence.PerfBytesPerS, s.Prefix, s.PerfBytesPerS)
			}
		}
	}
}

// TestEventsHaveEvidence: what an event says can be checked from the event alone.
func TestEventsHaveEvidence(t *testing.T) {
	kinds := map[EventKind]int{}
	for seed := range uint64(10) {
		c := city{seed: seed, prefixes: 40}
		c.run(cityRules(), 100, true, func(w int, e *Engine, in Input, d Decision) {
			for _, ev := range d.Events {
				kinds[ev.Kind]++
				if ev.Prefix == 0 {
					continue
				}
				x := ev.Evidence
				known, inGroup := 0, 0
				for _, l := range x.Windows {
					if l.Known {
						known++
					} else if l.Why == "" {
						t.Fatalf("%s: window %d unknown without a reason", ev.Prefix, l.Start)
					}
					if l.InGroup {
						inGroup++
						if l.PerfBytesPerS > l.BoundaryBytesPerS+1 || l.Rank < 1 || l.Rank > l.Ranked {
							t.Fatalf("%s: in the group with %+v", ev.Prefix, l)
						}
					}
				}
				if known != x.Known || inGroup != x.InGroup || x.RoundStart != d.RoundStart || ev.RoundStart != d.RoundStart ||
					len(x.Guards) != 7 || len(x.Verdict) == 0 || ev.Reason == "" {
					t.Fatalf("event %+v\nevidence %+v", ev, x)
				}
				if (ev.Kind == EventRefused) != (ev.Guard != "") && ev.Kind != EventReleased {
					t.Fatalf("%s with guard %q", ev.Kind, ev.Guard)
				}
			}
		})
	}
	for _, k := range []EventKind{EventSelected, EventReleased, EventRefused} {
		if kinds[k] == 0 {
			t.Errorf("no %s event in ten cities", k)
		}
	}
}

// TestDocumentedDefaults: the table for users has every rule with its default.
func TestDocumentedDefaults(t *testing.T) {
	text, err := os.ReadFile("../../../docs/policy.md")
	published, err2 := os.ReadFile("../../../docs/slowest-fifth.md")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	text = append(text, published...)
	fields(reflect.ValueOf(DefaultRules()), "", func(name string, v reflect.Value, _ reflect.StructTag) {
		want := fmt.Sprint(v.Interface())
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(name) + "` \\| " + regexp.QuoteMeta(want) + " \\| .{10}")
		if !row.Match(text) {
			t.Errorf("neither docs/policy.md nor docs/slowest-fifth.md has a row | `%s` | %s | reason", name, want)
		}
	})
}

// TestEvidenceIsBounded: a prefix that is known in one window of eight, 36 times in a
// day, has the longest history. A round tells up to 500 of such.
func TestEvidenceIsBounded(t *testing.T) {
	r := DefaultRules()
	r.MinRanked, r.LookbackSeconds = 3, r.WindowSeconds
	e := byLevel(r)
	for w := range int64(288) {
		in := Input{Start: noon + w*300, RoundStart: noon + w*300 + 300}
		for i, name := range []string{"a", "b", "c"} {
			if w%8 == 7 {
				in.Rows = append(in.Rows, quiet(in.Start, letter(t, name), 6, float64(100_000*(i+1))))
			}
		}
		e.Round(in)
	}
	x, _ := e.Explain(letter(t, "a"))
	covered := int64(0)
	for i, l := range x.Windows {
		if i > 0 && l.Start != max(x.Windows[i-1].Start, x.Windows[i-1].Last)+300 {
			t.Errorf("a gap before line %d: %+v", i, l)
		}
		covered += (max(l.Last, l.Start)-l.Start)/300 + 1
	}
	b, err := json.Marshal(x)
	if err != nil || x.Known != 36 || covered != 281 || len(b) > 16_000 {
		t.Errorf("%d bytes of evidence, %d known, %d windows covered: %v", len(b), x.Known, covered, err)
	}
	t.Logf("%d bytes", len(b))
}

// TestWhoStays: under a lowered cap trials leave first and listed prefixes last.
func TestWhoStays(t *testing.T) {
	var list []*candidate
	for _, s := range []State{StateTrial, StateAlways, StatePromoted} {
		list = append(list, &candidate{t: &track{plain: plain{prefix: letter(t, "a")}, chosen: &Selected{State: s}}})
	}
	slices.SortFunc(list, compareStaying)
	for i, want := range []State{StateAlways, StatePromoted, StateTrial} {
		if got := list[i].t.chosen.State; got != want {
			t.Errorf("place %d: %s, want %s", i, got, want)
		}
	}
}
