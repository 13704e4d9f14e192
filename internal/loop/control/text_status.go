package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/congctl/congctl/internal/app/agent"
	"github.com/congctl/congctl/internal/app/control"
)

// Status prints the state of the loop and all its loss accounting.
func Status(w io.Writer, s control.Status) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-22s %s\n", name, fmt.Sprintf(format, args...))
	}
	if s.Running {
		line("running", "pid %d since %s, congctl %s", s.PID, stamp(s.StartedUnixS), s.Version)
		line("kernel tier", "%s: %s", s.Tier, s.TierReason)
	} else {
		line("running", "no; this is what the store remembers")
	}
	line("pop", "%s", s.PoP)
	line("stopped", "%s", yes(s.Killed))
	line("frozen", "%s", yes(s.Frozen))
	line("plan", "%d", s.Plan)
	line("last round", "%s", stamp(s.RoundUnixS))
	if s.Agent != nil {
		agentLines(line, s.Agent)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func agentLines(line func(name, format string, args ...any), a *agent.Status) {
	line("namespaces", "%s", strings.Join(a.Namespaces, ", "))
	line("prefixes in force", "%d of plan %d", a.InForce, a.Plan)
	line("connections", "%d live, %d records (%d at close, %d vanished)", a.Ledger.Live,
		a.Ledger.Emitted[0]+a.Ledger.Emitted[1]+a.Ledger.Emitted[2], a.Ledger.Emitted[1], a.Ledger.Emitted[2])
	if a.CoverageOf > 0 {
		line("coverage", "%.2f %% of %d new passive connections in the last polls", 100*a.Coverage, a.CoverageOf)
	}
	line("dumps", "%d, %d sockets; %d interrupted, %d malformed messages", a.Polls, a.Sockets, a.InterruptedDumps, a.MalformedMessages)
	line("close records lost", "%d ring full, %d queue full, %d malformed", a.RingFull, a.DroppedCloses, a.MalformedCloses)
	line("not followed", "%d accepted in namespaces not polled, %d for want of memory or callbacks; %d switches refused",
		a.Unpolled, a.NotFollowed, a.SwitchFailed)
	line("callbacks taken", "%d, %d given back", a.Stripped, a.Rearmed)
	if a.Starved != "" {
		line("starved", "%s", a.Starved)
	}
	for _, x := range a.Alarms {
		line("ALARM", "%s", x)
	}
}
