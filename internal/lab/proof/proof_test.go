package proof

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

func proven() Enabled {
	return Enabled{Release: "6.1.0", Available: "reno cubic bbr", Before: "cubic", Default: Cong, Conn: Cong, Internals: true}
}

// TestScenario: one path, the same loss, both congestion controls, one cell for each.
func TestScenario(t *testing.T) {
	s, err := Scenario()
	if err != nil {
		t.Fatal(err)
	}
	var arms []string
	for _, c := range s.Cells {
		arms = append(arms, c.Arm.Cong)
	}
	if !slices.Equal(arms, []string{"cubic", Cong}) {
		t.Errorf("arms %v", arms)
	}
}

// failures are the steps of a report that failed, with what was seen.
func failures(r Report) string {
	var list []string
	for _, s := range r.Steps {
		if !s.OK {
			list = append(list, s.Step+": "+s.Saw)
		}
	}
	return strings.Join(list, "; ")
}

// TestEnabling: each way in which turning BBR on can come to nothing is a step of its own,
// and without runs nothing is proven.
func TestEnabling(t *testing.T) {
	const noRuns = "valid runs: cubic did not run; bbr did not run"
	s, err := Scenario()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(*Enabled)
		want  string
	}{
		"all but the race":    {func(*Enabled) {}, noRuns},
		"no BBR":              {func(e *Enabled) { *e = Enabled{Release: "6.1.0", Available: "reno cubic"} }, "available: reno cubic; default: nothing; connection: nothing; " + noRuns},
		"only a similar name": {func(e *Enabled) { e.Available = "reno bbr2" }, "available: reno bbr2; " + noRuns},
		"not taken":           {func(e *Enabled) { e.Default = "cubic" }, "default: cubic; " + noRuns},
		"another connection":  {func(e *Enabled) { e.Conn, e.Internals = "cubic", false }, "connection: cubic; " + noRuns},
		"a name and no BBR":   {func(e *Enabled) { e.Internals = false }, "connection: bbr; " + noRuns},
		"an error":            {func(e *Enabled) { e.Error = "set sysctl: EPERM" }, "without errors: set sysctl: EPERM; " + noRuns},
	} {
		e := proven()
		c.spoil(&e)
		r := Judge(e, s, nil)
		if got := failures(r); got != c.want || r.Proven || r.Ratio != nil {
			t.Errorf("%s: %s, proven %t, want %s", name, got, r.Proven, c.want)
		}
	}
}

// recorded is a valid run of BBR that a real kernel gave, and the same as if it were CUBIC's.
func recorded(t *testing.T) (*scenario.Scenario, []outcome.Run) {
	t.Helper()
	b, err := os.ReadFile("../outcome/testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	s := &scenario.Scenario{Name: "verify-kernel"}
	var runs []outcome.Run
	for _, cong := range []string{"cubic", Cong} {
		var r struct {
			Asked scenario.Cell
			Run   outcome.Run
		}
		if err := json.Unmarshal(bytes.ReplaceAll(line, []byte(`"bbr"`), []byte(`"`+cong+`"`)), &r); err != nil {
			t.Fatal(err)
		}
		r.Asked.ID = "x/" + cong
		r.Run.Cell = r.Asked.ID
		s.Cells, runs = append(s.Cells, r.Asked), append(runs, r.Run)
	}
	return s, runs
}

// TestRace: BBR that is no faster proves nothing, nor does one run of two, nor an invalid one.
func TestRace(t *testing.T) {
	s, runs := recorded(t)
	if r := Judge(proven(), s, runs); r.Proven || !strings.HasPrefix(failures(r), "faster at 2 % loss: cubic ") {
		t.Errorf("equal: %s", failures(r))
	}
	if r := Judge(proven(), s, runs[1:]); r.Proven || failures(r) != "valid runs: cubic did not run" {
		t.Errorf("one: %s", failures(r))
	}
	runs[0].Error = "the sender died"
	if r := Judge(proven(), s, runs); r.Proven || !strings.HasPrefix(failures(r), "valid runs: ") {
		t.Errorf("invalid: %s", failures(r))
	}
}

// TestTable says each step and the verdict in words.
func TestTable(t *testing.T) {
	r := Report{Release: "6.1.0", Proven: true, Steps: []Step{{"available", true, "reno bbr"}}}
	const rows = "STEP       VERDICT  SAW\navailable  ok       reno bbr\n\nLinux 6.1.0: "
	var b bytes.Buffer
	if err := r.Table(&b); err != nil || b.String() != rows+"BBR can be turned on, and is faster than CUBIC when packets are lost.\n" {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	r.add("default", false, "")
	if err := r.Table(&b); err != nil || !strings.HasSuffix(b.String(), "default    failed   nothing\n\nLinux 6.1.0: not proven.\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
