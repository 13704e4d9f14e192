package control

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/agent"
)

// WriteStatus writes the state of the loop and all its loss accounting.
func WriteStatus(w io.Writer, s Status) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-22s %s\n", name, fmt.Sprintf(format, args...))
	}
	if s.Running {
		line("running", "pid %d since %s, congctl %s", s.PID, answer.Stamp(s.StartedUnixS), s.Version)
		line("kernel tier", "%s: %s", s.Tier, s.TierReason)
	} else {
		line("running", "no; the store has the following")
	}
	line("pop", "%s", s.PoP)
	line("stopped", "%s", stoppedText(s))
	line("frozen", "%s", answer.Yes(s.Frozen))
	line("plan", "%d", s.Plan)
	line("last round", "%s", answer.Stamp(s.RoundUnixS))
	line("networks", "%s", rankedText(s))
	if s.ToDecide > 0 {
		line("first decision", "in %s at the earliest (%s)", answer.Count(s.ToDecide, "window"), answer.Stamp(s.DecideUnixS))
	}
	if s.Agent != nil {
		if allAre(s.Agent.DefaultCongs, s.Treatment) {
			line("nothing to treat", "the default already is %s", s.Treatment)
		}
		agentLines(line, s.Agent, s.All)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func stoppedText(s Status) string {
	switch {
	case s.Stopped == s.StoppedNext:
		return answer.Yes(s.Stopped)
	case s.Stopped:
		return "yes, but the store does not say so: the next start treats"
	}
	return "no, but the store says yes: the next start treats nothing"
}

func rankedText(s Status) string {
	if s.All {
		return fmt.Sprintf("%d known; all are treated", s.Ranked)
	}
	if s.Ranked < s.MinRanked {
		return fmt.Sprintf("%d of the %d that a decision needs", s.Ranked, s.MinRanked)
	}
	return fmt.Sprintf("%d ranked; a decision needs %d", s.Ranked, s.MinRanked)
}

func allAre(list []string, one string) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(s string) bool { return s != one })
}

func agentLines(line func(name, format string, args ...any), a *agent.Status, all bool) {
	if a.Hosts != nil {
		line("hosts", "%s", cmp.Or(strings.Join(a.Hosts, ", "), "none is connected"))
	} else {
		line("namespaces", "%s", strings.Join(a.Namespaces, ", "))
	}
	if a.NotTrusted > 0 {
		line("not trusted", "%d namespaces of other user namespaces are not polled (netns_trust)", a.NotTrusted)
	}
	if all && a.InForce > 0 {
		line("prefixes in force", "all of plan %d", a.Plan)
	} else {
		line("prefixes in force", "%d of plan %d", a.InForce, a.Plan)
	}
	if a.Hosts == nil {
		countLines(line, a)
	}
	for _, x := range a.Alarms {
		line("ALARM", "%s", x)
	}
}

// countLines are what a host counts of its own measuring.
func countLines(line func(name, format string, args ...any), a *agent.Status) {
	line("connections", "%d live, %d records (%d at close, %d vanished)", a.Ledger.Live,
		a.Ledger.Emitted[0]+a.Ledger.Emitted[1]+a.Ledger.Emitted[2], a.Ledger.Emitted[1], a.Ledger.Emitted[2])
	if a.CoverageOf > 0 {
		line("coverage", "%.2f %% of %d new passive connections in the last polls", 100*a.Coverage, a.CoverageOf)
	}
	line("dumps", "%d, %d sockets; %d interrupted, %d malformed messages", a.Polls, a.Sockets, a.InterruptedDumps, a.MalformedMessages)
	line("close records lost", "%d ring full, %d queue full, %d malformed", a.RingFull, a.DroppedCloses, a.MalformedCloses)
	line("left out of windows", "%d late, %d unplaced, %d set back, %d of an unknown arm; %d networks evicted, with %d connections; %d networks without an eligible one, with %d; %d crowded",
		a.LeftOut.Late, a.LeftOut.Unplaced, a.LeftOut.SetBack, a.LeftOut.Unknown, a.LeftOut.EvictedPrefixes, a.LeftOut.EvictedConns, a.LeftOut.IneligiblePrefixes, a.LeftOut.IneligibleConns, a.LeftOut.Crowded)
	line("not followed", "%d accepted in namespaces not polled, %d for lack of memory or callbacks; %d switches refused",
		a.Unpolled, a.NotFollowed, a.SwitchFailed)
	line("callbacks taken", "%d, %d given back", a.Stripped, a.Rearmed)
	if a.Starved != "" {
		line("starved", "%s", a.Starved)
	}
}
