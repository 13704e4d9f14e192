package control

import (
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/record"
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
	if err := WritePrefixes(&b, []PrefixRow{{
		Row:       policy.Row{Prefix: p, State: policy.StateSelected, PerfBytesPerS: 250_000, TreatedBytesPerS: 625_000, Conns: 9, InGroup: true, Known: 17, Duty: 1, Flap: 0.06, Signature: policy.ClassMixed},
		Treatment: "bbr", Arm: record.ArmControl, ArmUntil: 1_700_001_000,
	}}, false); err != nil {
		t.Fatal(err)
	}
	compare(t, "prefixes", b.String(),
		"PREFIX          STATE     MBIT/S  TREATED  SHOWN  CONNS  KNOWN  CONG  ARM-UNTIL   GUARD  SIGNATURE\n"+
			"203.0.113.0/24  selected  2.00    5.00     -      9      17     bbr   C 22:30:00  -      mixed\n")
	b.Reset()
	if err := WritePrefixes(&b, nil, true); err != nil || b.String() != "no such prefixes; congctl prefixes lists all\n" {
		t.Errorf("no row of those asked for: %q, %v", b.String(), err)
	}
	b.Reset()
	if err := WritePrefixes(&b, nil, false); err != nil || !strings.HasPrefix(b.String(), "no prefixes yet") {
		t.Errorf("no rows: %q, %v", b.String(), err)
	}
}

func TestRoundsAndEvents(t *testing.T) {
	var b strings.Builder
	if err := WriteRounds(&b, []journal.Round{{Summary: policy.Summary{RoundStart: 300, Note: "frozen"}}, {Summary: policy.Summary{RoundStart: 600, Window: 300, New: 2}}, {Summary: policy.Summary{RoundStart: 1800, Window: 1500}}}); err != nil {
		t.Fatal(err)
	}
	compare(t, "rounds", b.String(),
		"ROUND                 KNOWN  RANKED  GROUP  BOUNDARY-MBIT/S  SELECTED  NEW  RELEASED  REFUSED  NOTE\n"+
			"1970-01-01T00:05:00Z  0      0       0      -                0         0    0         0        frozen\n"+
			"1970-01-01T00:10:00Z  0      0       0      -                0         2    0         0        -\n"+
			"1970-01-01T00:30:00Z  0      0       0      -                0         0    0         0        no rounds in the 15m before\n")
	b.Reset()
	if err := WriteEvents(&b, []journal.Event{{At: 300, Kind: "freeze", Text: "by root"}, {At: 600, Kind: "stop", Text: "by root"}}); err != nil {
		t.Fatal(err)
	}
	if first, last := strings.Index(b.String(), "freeze"), strings.Index(b.String(), "stop"); first < 0 || last < first {
		t.Errorf("events:\n%s", b.String())
	}
}

func TestStatusShowsEveryLossAndAlarm(t *testing.T) {
	var b strings.Builder
	s := Status{Running: true, PID: 7, Tier: "full", Stopped: true, StoppedNext: true, Agent: &agent.Status{
		DroppedCloses: 3, InterruptedDumps: 5, LeftOut: window.LeftOut{Late: 1, Unplaced: 2, SetBack: 3, Unknown: 4, EvictedPrefixes: 5, EvictedConns: 6}, CoverageOf: 200, Coverage: 0.985, Alarms: []string{"theft: by \"x\""},
	}}
	if err := WriteStatus(&b, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pid 7", "stopped                yes", "3 queue full", "5 interrupted",
		"1 late, 2 unplaced, 3 set back, 4 of an unknown arm; 5 networks evicted, with 6 connections", "98.50 % of 200", "ALARM                  theft: by \"x\""} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, b.String())
		}
	}
	b.Reset()
	fresh := Status{Running: true, Ranked: 17, MinRanked: 20, ToDecide: 9, DecideUnixS: 1_700_001_000, Treatment: "bbr",
		Agent: &agent.Status{DefaultCongs: []string{"bbr", "bbr"}}}
	if err := WriteStatus(&b, fresh); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"17 of the 20 that a decision needs", "in 9 windows at the earliest (2023-11-14T22:30:00Z)", "the default already is bbr"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, b.String())
		}
	}
	b.Reset()
	fresh.Agent.DefaultCongs[1], fresh.ToDecide, fresh.Ranked = "cubic", 0, 20
	if err := WriteStatus(&b, fresh); err != nil || strings.Contains(b.String(), "already") || strings.Contains(b.String(), "first decision") || !strings.Contains(b.String(), "20 ranked") {
		t.Errorf("a decision is possible: %q, %v", b.String(), err)
	}
	b.Reset()
	if err := WriteStatus(&b, Status{}); err != nil || !strings.Contains(b.String(), "the store has the following") {
		t.Errorf("stored status: %q, %v", b.String(), err)
	}
}

// TestStatusOfAPoP shows its hosts, and no count that only a host has.
func TestStatusOfAPoP(t *testing.T) {
	var b strings.Builder
	s := Status{Running: true, PoP: "chi", Agent: &agent.Status{Plan: 7, InForce: 4, Hosts: []string{"edge-1", "edge-2"}, Alarms: []string{"host edge-3: not connected"}}}
	if err := WriteStatus(&b, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hosts                  edge-1, edge-2", "4 of plan 7", "ALARM                  host edge-3"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, b.String())
		}
	}
	for _, no := range []string{"namespaces", "dumps", "connections"} {
		if strings.Contains(b.String(), no) {
			t.Errorf("%q, which no controller counts, is in:\n%s", no, b.String())
		}
	}
}
