package config

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/strict"
)

func annotated(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../../etc/congctl.yml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// equal compares two configurations; an empty list is as good as none.
func equal(t *testing.T, got, want Config) {
	t.Helper()
	norm := func(c Config) string { return strings.ReplaceAll(dump(c), "[]", "<nil>") }
	if d := cmp.Diff(norm(want), norm(got)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// dump prints every field on a line of its own.
func dump(c Config) string {
	var b strings.Builder
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		if v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				if key := keyOf(v.Type().Field(i)); key != "-" {
					walk(v.Field(i), join(path, key))
				}
			}
			return
		}
		b.WriteString(path + " = " + strings.TrimSpace(sprint(v)) + "\n")
	}
	walk(reflect.ValueOf(c), "")
	return b.String()
}

func TestAnnotatedFileIsTheDefaults(t *testing.T) {
	got, err := Parse([]byte(annotated(t)))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, Default())
}

// Each key of the struct must stand in the annotated file, below a comment.
func TestAnnotatedFileIsWhole(t *testing.T) {
	root, err := document([]byte(annotated(t)))
	if err != nil {
		t.Fatal(err)
	}
	d := decoder{lines: map[string]int{}, values: map[string]string{}}
	c := Default()
	d.mapping(root, reflect.ValueOf(&c).Elem(), "")
	for _, line := range strings.Split(strings.TrimSpace(dump(c)), "\n") {
		key, _, _ := strings.Cut(line, " = ")
		if d.lines[key] == 0 && derived[key] == "" {
			t.Errorf("%s is not in etc/congctl.yml", key)
		}
	}
}

func TestDefaultIsValid(t *testing.T) {
	if err := Default().faults().Err(); err != nil {
		t.Fatal(err)
	}
	for _, empty := range []string{"", "\n# only a comment\n", "---\n", "~"} {
		got, err := Parse([]byte(empty))
		if err != nil {
			t.Fatalf("%q: %v", empty, err)
		}
		equal(t, got, Default())
	}
}

func TestWindowScales(t *testing.T) {
	for _, c := range []struct {
		file                         string
		poll, block, washout, expiry time.Duration
	}{
		{"window: 2m", 4 * time.Second, 10 * time.Minute, time.Minute, 6 * time.Minute},
		{"window: 4m", 8 * time.Second, 12 * time.Minute, time.Minute, 12 * time.Minute},
		{"window: 10m", 20 * time.Second, 20 * time.Minute, time.Minute, 30 * time.Minute},
		{"window: 1m", 2 * time.Second, 6 * time.Minute, 36 * time.Second, 3 * time.Minute},
		{"window: 5s", 125 * time.Millisecond, 30 * time.Second, 3 * time.Second, 15 * time.Second},
		{"window: 1s", 100 * time.Millisecond, 6 * time.Second, 0, 3 * time.Second},
		{"window: 2m\npoll: 10s\nexperiment: {block: 30m}", 10 * time.Second, 30 * time.Minute, time.Minute, 6 * time.Minute},
		{"experiment: {block: 1h}", 10 * time.Second, time.Hour, time.Minute, 15 * time.Minute},
		{"experiment: {block: 10m, washout: 5m}", 10 * time.Second, 10 * time.Minute, 5 * time.Minute, 15 * time.Minute},
	} {
		got, err := Parse([]byte(c.file))
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		have := []time.Duration{got.Poll, got.Experiment.Block, got.Experiment.Washout, got.Treatment.Expiry}
		if want := []time.Duration{c.poll, c.block, c.washout, c.expiry}; !reflect.DeepEqual(have, want) {
			t.Errorf("%s: poll, block, washout, expiry = %v, want %v", c.file, have, want)
		}
		if got.Store != Default().Store {
			t.Errorf("%s: retention scaled: it is disk, not policy", c.file)
		}
	}
}

// Whatever the window, the scaled defaults are valid.
func TestScaledDefaultsAreValid(t *testing.T) {
	for s := 1; s <= 3600; s++ {
		c := Default()
		c.Window = time.Duration(s) * time.Second
		c.follow(func(path string) bool { return path == "window" })
		if err := c.faults().Err(); err != nil {
			t.Errorf("window %ds: %v", s, err)
		}
	}
}

// TestSelectionFollows: an experiment that an older file turned off is the selection by level where the file names none;
// the cap goes with selection by benefit; and what is printed of either is read back to the same.
func TestSelectionFollows(t *testing.T) {
	for file, want := range map[string]string{
		"":                            "benefit true",
		"treatment: {cong: bbr3}":     "benefit true",
		"treatment: {cong: cubic_lt}": "benefit true",
		"treatment: {cong: auto}":     "benefit true",
		"treatment: {cong: cubic}\npolicy: {min_known: 6}":                     "benefit true",
		"experiment: {mode: off}":                                              "slowest-fifth false",
		"experiment: {mode: on}":                                               "benefit true",
		"policy: {select: slowest-fifth}":                                      "slowest-fifth false",
		"policy: {cap: false}":                                                 "benefit false",
		"policy: {select: all}":                                                "all false",
		"treatment: {cong: vegas}\npolicy: {select: all}":                      "all false",
		"treatment: {cong: vegas}\npolicy: {select: benefit}":                  "benefit true",
		"policy: {select: benefit}":                                            "benefit true",
		"treatment: {cong: vegas}\npolicy: {cap: true}":                        "benefit true",
		"treatment: {cong: vegas}\npolicy: {select: slowest-fifth}":            "slowest-fifth false",
		"experiment: {mode: off}\npolicy: {select: slowest-fifth}":             "slowest-fifth false",
		"experiment: {mode: off}\npolicy: {select: slowest-fifth, cap: false}": "slowest-fifth false",
	} {
		c, err := Parse([]byte(file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		text, err := c.Text()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(text)
		for _, c := range []Config{c, again} {
			if got := fmt.Sprint(c.Policy.Select, " ", c.Policy.Cap); err != nil || got != want {
				t.Errorf("%s: %s, want %s: %v", file, got, want, err)
			}
		}
	}
}

func TestRules(t *testing.T) {
	never, always := filepath.Join(t.TempDir(), "never"), filepath.Join(t.TempDir(), "always")
	if err := errors.Join(os.WriteFile(never, []byte("203.0.113.0/24\n"), 0o600), os.WriteFile(always, []byte("2001:db8::/55 radio\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := Parse([]byte("window: 2m\nmax_prefixes: 9000\npolicy: {max_age: 12h, select_duty: 0.7}\n" +
		"treatment: {never: [198.18.0.0/15], never_file: " + never + ", always: [192.0.2.0/24 satellite link], always_file: " + always + ", control: off}\n" +
		"plan: {max: 40, new_per_round: 4, allow_prefixes: [10.0.0.0/8]}"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	want := policy.DefaultRules()
	want.WindowSeconds, want.LookbackSeconds, want.MaxAgeSeconds = 120, 12*60, 12*3600
	want.SelectDuty, want.MaxNewPerRound, want.MaxSelected, want.MaxTracked = 0.7, 4, 40, 9000
	w := &want.Trial
	w.BlockSeconds, w.WashoutSeconds = 10*60, 60
	w.EvidenceSeconds, w.CooldownSeconds, w.MaxCooldownSeconds = 576*60, 576*60, 8*576*60
	want.Guards.Allow = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	want.Guards.Never = []policy.Listed{{Net: netip.MustParsePrefix("198.18.0.0/15")}, {Net: netip.MustParsePrefix("203.0.113.0/24")}}
	want.Always = []policy.Listed{{Net: netip.MustParsePrefix("192.0.2.0/24"), Reason: "satellite link"},
		{Net: netip.MustParsePrefix("2001:db8::/56"), Reason: "radio"}, {Net: netip.MustParsePrefix("2001:db8:0:100::/56"), Reason: "radio"}}
	want.Uncontrolled = true
	got.HoldoutPrefixes, got.AAPrefixes = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

// A fleet's plan of all networks names none, so a controller's list of those never to treat would be heard by no host.
func TestNeverBesideAll(t *testing.T) {
	const listed, all, fleet = "treatment: {never: [203.0.113.0/24 probes]}\n", "policy: {select: all}\n", "fleet: {pops: [chi]}\n"
	for file, want := range map[string]string{
		listed + all + fleet: `treatment.never: "203.0.113.0/24": reaches no host`,
		"treatment: {never_file: /etc/never}\n" + all + fleet: `treatment.never_file: "/etc/never": reaches no host`,
		listed + all:   "",
		listed + fleet: "",
		all + fleet:    "",
	} {
		_, err := Parse([]byte(file))
		if got := fmt.Sprint(err); !strings.Contains(got, want) || want == "" && strings.Contains(got, "reaches no host") {
			t.Errorf("%s: %s", file, got)
		}
	}
}

func TestTimesDoesNotOverflow(t *testing.T) {
	if got := times(8*day, time.Hour); got != 96*day {
		t.Errorf("8d for a window of 1h: %v", got)
	}
	if got := times(1<<62, time.Hour); got != 1<<63-1 {
		t.Errorf("not saturated: %v", got)
	}
}

func TestNetns(t *testing.T) {
	for file, want := range map[string][]string{
		"": {"own"}, "netns: own": {"own"}, "netns: all": {"all"}, "netns: web": {"web"},
		"netns: [own, web, /run/netns/db]": {"own", "web", "/run/netns/db"},
	} {
		c, err := Parse([]byte(file))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !reflect.DeepEqual(c.Netns, want) {
			t.Errorf("%s: %v", file, c.Netns)
		}
	}
}

func TestReadNamesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "c.yml")
	if err := os.WriteFile(name, []byte("pol: 1s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Read(name)
	if fs, ok := errors.AsType[strict.Faults](err); !ok || len(fs) != 1 || !strings.Contains(err.Error(), name) {
		t.Errorf("got %v", err)
	}
	if _, err = Read(name + ".absent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestListFiles: a list's file is checked with the rest of the list, and its faults name its lines.
func TestListFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list")
	for _, c := range []struct{ yaml, file, want string }{
		{"never: [198.18.0.0/15], never_file: FILE", "# partners\n203.0.113.0/24 # one\n\n2001:db8::/56 monitoring\n", ""},
		{"never_file: FILE", "203.0.113.7/24\n", `line 1: treatment.never_file: "203.0.113.7/24": host bits set; write 203.0.113.0/24`},
		{"never_file: FILE", "x\n\n203.0.113.0/24\n", `line 1: treatment.never_file: "x": does not begin with a network; write it as 203.0.113.0/24 and then the reason`},
		{"always: [203.0.112.0/23 sea cable], always_file: FILE", "198.51.100.0/24 radio\n203.0.113.0/24 satellite\n",
			`line 2: treatment.always_file: "203.0.113.0/24 satellite": overlaps 203.0.112.0/23 of the same list; keep one`},
		{"never: [203.0.113.0/24], always_file: FILE", "203.0.112.0/20 satellite\n",
			`line 1: treatment.always_file: "203.0.112.0/20 satellite": overlaps 203.0.113.0/24 of treatment.never; keep one`},
		{"always_file: FILE", "203.0.113.0/24 Funkstation K\xf6ln\n",
			`line 1: treatment.always_file: "203.0.113.0/24 Funkstation K\xf6ln": a reason that is not UTF-8; write 203.0.113.0/24 Funkstation K?ln, or save the file as UTF-8`},
		{"never: [198.18.0.0/15], never_file: FILE", singles(4095), ""},
		{"never: [198.18.0.0/15], never_file: FILE", singles(4096), "treatment.never_file: 4097 networks in treatment.never and its file; list at most 4096, the kernel holds no more: fewer, or wider ones"},
		{"never: [203.0.113.7/32 probe], always_file: FILE", "203.0.112.0/20 satellite\n", ""}, // the kernel leaves the address alone
	} {
		if err := os.WriteFile(name, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		conf, err := Parse([]byte("treatment: {" + strings.ReplaceAll(c.yaml, "FILE", name) + "}"))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = conf.Lists()
		if text := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.HasSuffix(text, c.want) {
			t.Errorf("%s, %q: %v, want %s", c.yaml, c.file, err, c.want)
		}
	}
	c := Default()
	c.Treatment.AlwaysFile = name + ".none"
	if _, err := c.Rules(); err == nil || !strings.Contains(err.Error(), "treatment.always_file") {
		t.Errorf("no file: %v", err)
	}
}

// singles are n networks of one address, one a line.
func singles(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "10.0.%d.%d/32\n", i>>8, i&255)
	}
	return b.String()
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("window: 2m\ntreatment: {never: [203.0.113.0/24], always: [2001:db8::/40 radio]}\n"))
	f.Add([]byte("a: &x [*x]\n? [1]\n: 2\n"))
	f.Add([]byte("pop: !!binary x\n---\nb"))
	f.Add([]byte("window: 1e99d\npoll: -1s\nplan: {max_change: nan}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse(b)
		if err == nil {
			err = c.faults().Err()
			if err != nil {
				t.Errorf("parsed but not valid: %v", err)
			}
			return
		}
		if !reflect.DeepEqual(c, Config{}) {
			t.Error("both a configuration and an error")
		}
	})
}

func TestAllowThatCannotTakeEffectIsRefused(t *testing.T) {
	_, err := Parse([]byte("plan: {allow_prefixes: [64:ff9b::/96, 10.0.0.0/8]}"))
	if err == nil || !strings.Contains(err.Error(), "64:ff9b::/96") || !strings.Contains(err.Error(), "write 64:ff9b::/56") {
		t.Errorf("got %v", err)
	}
	if _, err := Parse([]byte("plan: {allow_prefixes: [64:ff9b::/56, 10.0.0.0/8]}")); err != nil {
		t.Error(err)
	}
}

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"24h": "2026-11-19T12:00:00Z", "7d": "2026-11-13T12:00:00Z", "2026-11-20T11:00:00+01:00": "2026-11-20T10:00:00Z",
		"2026-11-20T13:00:00Z": "not in the past", "yesterday": "write a duration", "0s": "write a duration", "": "write a duration",
	} {
		got, err := ParseSince(text, now)
		switch {
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%q: %v", text, err)
		case err == nil && got.UTC().Format(time.RFC3339) != want:
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestKeepsWhatThePolicyRemembers: a restart reads the pairs that count, back to the first block of the oldest group. A longer
// window looks back further and keeps as much by itself.
func TestKeepsWhatThePolicyRemembers(t *testing.T) {
	for file, want := range map[string]string{
		"store: {keep_windows: 36h}":                                               "",
		"store: {keep_windows: 35h}":                                               `store.keep_windows: "35h": not from 36h to 3650d`,
		"store: {keep_events: 36h, keep_plans: 36h}":                               "",
		"policy: {trial: {evidence: 7d}}":                                          `store.keep_windows: "7d": not from 170h50m to 3650d`,
		"policy: {trial: {evidence: 7d}}\nstore: {keep_windows: 8d}":               "",
		"experiment: {block: 30m, control_every: 24}\nstore: {keep_windows: 36h}":  `store.keep_windows: "36h": not from 36h30m to 3650d`,
		"experiment: {block: 30m, control_every: 8}\nstore: {keep_decisions: 36h}": "",
		"window: 1h": "",
	} {
		_, err := Parse([]byte(file))
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}

// TestRevoked: names as events have them, and serial numbers as tools print them, in one form.
func TestRevoked(t *testing.T) {
	for text, want := range map[string]string{
		"congctl://operator/ann": "congctl://operator/ann", "congctl://agent/chi/edge-1": "congctl://agent/chi/edge-1", "congctl://controller/main": "congctl://controller/main",
		"1A2b": "1a2b", "serial=0A1B": "a1b", "00:ff:01": "ff01", "0": "0", "1234": "1234",
		"ann": "", "operator/ann": "", "congctl://operator/../ann/x": "", "congctl://admin/ann": "", "congctl://agent/edge-1": "", "congctl://operator/a\nb": "", "": "", "serial=": "",
		"0x1a": "", "-1": "", strings.Repeat("f", 41): "", "congctl://operator/" + strings.Repeat("x", 64): "",
	} {
		var r Revoked
		err := r.UnmarshalText([]byte(text))
		if string(r) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, r, err, want)
		}
	}
	c, err := Parse([]byte("fleet: {revoked: [congctl://operator/ann, 1234, \"0012e4\"]}"))
	if err != nil || len(c.Fleet.Revoked) != 3 || c.Fleet.Revoked[1] != "1234" || c.Fleet.Revoked[2] != "12e4" {
		t.Errorf("%q, %v", c.Fleet.Revoked, err)
	}
}

// TestGone: keys of an older file are named and stop nothing; an experiment that was off is the
// selection by level, which has no cap, and a file that asks for another one beside it is refused, as are values that no file had. Tier
// route is observe.
func TestGone(t *testing.T) {
	c, err := Parse([]byte("experiment:\n  mode: \"on\"\n  control_every_settled: 24\npolicy:\n  trial: {false_share: 0.05, budget: 6h}\n"))
	if err != nil || c.Policy.Select != policy.SelectBenefit || len(c.Ignored) != len(gone) || !strings.HasPrefix(c.Ignored[1], "experiment.mode (line 2): policy.select: ") {
		t.Errorf("%v, %s, %q", err, c.Policy.Select, c.Ignored)
	}
	text, err := c.Text()
	if err != nil || strings.Contains(string(text), "false_share") {
		t.Errorf("written: %v\n%s", err, text)
	}
	old, err := Parse([]byte("experiment: {mode: off}\npolicy: {cap: true}"))
	if err != nil || old.Policy.Select != policy.SelectSlowest || old.Policy.Cap || len(old.Ignored) != 2 || !strings.Contains(old.Ignored[0], "write that in its place") || !strings.Contains(old.Ignored[1], "no pacing cap") {
		t.Errorf("%v, %s, %q", err, old.Policy.Select, old.Ignored)
	}
	routes, err := Parse([]byte("window: 5m\ntier: route\n"))
	if err != nil || routes.Tier != TierObserve || len(routes.Ignored) != 1 || !strings.HasPrefix(routes.Ignored[0], "tier (line 2): route is observe now") {
		t.Errorf("%v, tier %q, %q", err, routes.Tier, routes.Ignored)
	}
	for file, want := range map[string]string{"tier: basic": `tier: "basic": not a tier limit; use "observe"`, "experiment: {mode: false}": "remove it", "experiment: {mode: [on]}": "remove it", "experiment:\n  mode: off\n  mode: on": "set twice, first in line 2"} {
		if _, err := Parse([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
	want := `policy.select: "benefit": has an experiment, and experiment.mode is off`
	if _, err := Parse([]byte("experiment: {mode: off}\npolicy: {select: benefit}")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
