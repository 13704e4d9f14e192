package show

import (
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/app/agent"
	"github.com/congctl/congctl/internal/app/control"
	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/record"
)

func compare(t *testing.T, name, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
	}
}

func TestPrefixes(t *testing.T) {
	p, err := record.ParsePrefix("203.0.113.0/24")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Prefixes(&b, []control.PrefixRow{{
		Row:       policy.Row{Prefix: p, State: policy.StateSelected, PerfBytesPerS: 250_000, Conns: 9, InGroup: true, Known: 17, Duty: 1, Flap: 0.06},
		Treatment: "bbr", Arm: record.ArmControl, ArmUntil: 1_700_001_000,
	}}); err != nil {
		t.Fatal(err)
	}
	compare(t, "prefixes", b.String(),
		"PREFIX          STATE     MBIT/S  CONNS  IN-GROUP  KNOWN  DUTY  FLAP  TREATMENT  ARM               GUARD\n"+
			"203.0.113.0/24  selected  2.00    9      yes       17     1.00  0.06  bbr        C until 22:30:00  -\n")
	b.Reset()
	if err := Prefixes(&b, nil); err != nil || !strings.HasPrefix(b.String(), "no prefixes yet") {
		t.Errorf("no rows: %q, %v", b.String(), err)
	}
}

// The store gives the newest first; a table ends with now.
func TestRoundsAndEventsEndWithTheNewest(t *testing.T) {
	var b strings.Builder
	if err := Rounds(&b, []journal.Round{{RoundStart: 600, New: 2}, {RoundStart: 300, Note: "frozen"}}); err != nil {
		t.Fatal(err)
	}
	compare(t, "rounds", b.String(),
		"ROUND                 KNOWN  RANKED  IN-GROUP  BOUNDARY-MBIT/S  SELECTED  NEW  RELEASED  REFUSED  NOTE\n"+
			"1970-01-01T00:05:00Z  0      0       0         -                0         0    0         0        frozen\n"+
			"1970-01-01T00:10:00Z  0      0       0         -                0         2    0         0        -\n")
	b.Reset()
	if err := Events(&b, []control.Event{{AtUnixS: 600, Kind: "stop", Text: "by root"}, {AtUnixS: 300, Kind: "freeze", Text: "by root"}}); err != nil {
		t.Fatal(err)
	}
	if first, last := strings.Index(b.String(), "freeze"), strings.Index(b.String(), "stop"); first < 0 || last < first {
		t.Errorf("events:\n%s", b.String())
	}
}

func TestStatusShowsEveryLossAndAlarm(t *testing.T) {
	var b strings.Builder
	s := control.Status{Running: true, PID: 7, Tier: "full", Killed: true, Agent: &agent.Status{
		DroppedCloses: 3, InterruptedDumps: 5, CoverageOf: 200, Coverage: 0.985, Alarms: []string{"theft: by \"x\""},
	}}
	if err := Status(&b, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pid 7", "stopped                yes", "3 queue full", "5 interrupted", "98.50 % of 200", "ALARM                  theft: by \"x\""} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := Status(&b, control.Status{}); err != nil || !strings.Contains(b.String(), "what the store remembers") {
		t.Errorf("stored status: %q, %v", b.String(), err)
	}
}
