package controller

import (
	"bytes"
	"errors"
	goflag "flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/logline"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

var rewrite = goflag.Bool("rewrite", false, "write the golden files anew")

// TestLogOfADay is what journald reads of a loop in which everything happens once:
// testdata/log.txt is for a person to judge.
func TestLogOfADay(t *testing.T) {
	var log bytes.Buffer
	s, m := fresh(), &machine{}
	b := newBench(t, s, m, t0)
	b.log = logline.New(&log, logline.Options{Level: slog.LevelDebug, Journal: true})
	b.rounds(12)
	m.refuse = errors.New("take plan 2:\nline 12: prefix: on the deny list\nline 14: prefix: on the deny list")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	check(b.force(t.Context(), b.plan, nil, ""))
	m.refuse = nil
	check(b.Stop(t.Context(), true, "maria (uid 1000, pid 4211)"))
	check(b.Resume(t.Context(), "maria (uid 1000, pid 4230)"))
	check(b.Freeze(t.Context(), "root (uid 0, pid 4240)"))
	check(b.Unfreeze(t.Context(), "root (uid 0, pid 4241)"))
	check(b.Tell(t.Context(), KindReload, "by SIGHUP; plan.max is 400 (was 500)"))
	check(b.Tell(t.Context(), KindReloadRefused, "by SIGHUP; the old configuration stays: line 3: window: 7 is no duration\nline 9: plan.max: -1"))
	check(b.Tell(t.Context(), KindAlarm+"coverage", "eBPF saw 861 of 1204 new passive connections (71.5 %, limit 99 %)"))
	check(b.Tell(t.Context(), KindAlarmOver, "coverage"))
	var many []journal.Event
	for i, kind := range []policy.EventKind{policy.EventPromoted, policy.EventRetrial, policy.EventDemoted, policy.EventRetired, policy.EventReleased,
		policy.EventRefused, policy.EventIgnored, policy.EventEvicted, policy.EventReset, policy.EventBrake} {
		many = append(many, journal.Event{Kind: string(kind), Prefix: prefixNumber(t, i), Text: "for a reason"})
	}
	for i := range 47 {
		many = append(many, journal.Event{Kind: string(policy.EventSelected), Prefix: prefixNumber(t, i), Text: "for a reason"})
	}
	check(b.commit(t.Context(), &journal.Commit{Events: many}))
	b.now -= 300 // the clock is set back: the last window comes again
	b.rounds(1)
	s.full = true
	if err := b.Tell(t.Context(), KindAlarm+"theft", "callbacks of 3 of 40 followed connections were taken"); err == nil {
		t.Error("a full store kept an event")
	}
	golden(t, "log.txt", log.String())

	kept := 0
	for _, e := range s.events {
		if strings.Contains(log.String(), ">"+line(&e)+"\n") {
			kept++
		}
	}
	if want := len(s.events) - (47 - maxLines); kept != want {
		t.Errorf("%d of %d events are lines of the log, want %d", kept, len(s.events), want)
	}
}

func prefixNumber(t *testing.T, i int) record.Prefix {
	t.Helper()
	p, err := record.ParsePrefix(fmt.Sprintf("203.0.%d.0/24", i))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	name = "testdata/" + name
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || string(want) != got {
		t.Errorf("%s differs (-rewrite and look at the diff), %v:\n%s", name, err, got)
	}
}
