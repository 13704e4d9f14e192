package main

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestVerbsLiveAndStored asks every reading verb of the running process, and again
// of the store after its end: what was known must be told the same.
func TestVerbsLiveAndStored(t *testing.T) {
	notShort(t, "two windows of traffic")
	e := newEdge(t, quickSettings())
	planned := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
	first := e.planFor(prefixOf(t, planned))
	e.keepPlan(first)
	e.start()
	s := newServer(t)
	clients := []netip.Addr{planned, client(150, 1), client(networks+150, 1)}
	e.fillWindows(s, clients, 2)

	live := e.readEverything(clients)
	if !live.status.Running || live.status.PID != e.cmd.Process.Pid || !live.status.Frozen || live.status.Agent == nil || live.status.Plan != 1 {
		t.Errorf("status of the running process: %+v", live.status)
	}
	e.refusals(live.planText)
	e.stop()
	stored := e.readEverything(clients)
	if stored.status.Running || stored.status.PID != 0 || !stored.status.Frozen || stored.status.Plan != 1 {
		t.Errorf("status of the store: %+v", stored.status)
	}
	if stored.planText != live.planText || live.planText != string(first.Sign(testKey())) {
		t.Errorf("plan show is not the signed file:\n%s\n%s", live.planText, stored.planText)
	}
	compareRounds(t, live.rounds, stored.rounds)
	for p, row := range live.prefixes {
		if got := stored.prefixes[p]; got.Treatment != row.Treatment || got.Known < row.Known || got.Arm != row.Arm {
			t.Errorf("%s: live %+v, stored %+v", p, row, got)
		}
	}
	e.refusals(live.planText)
	e.actWhileNothingRuns()
}

// fillWindows lets each client download enough to be known in n windows.
func (e *edge) fillWindows(s *server, clients []netip.Addr, n int) {
	e.t.Helper()
	seen := func() (most int) {
		var rows []control.PrefixRow
		e.ask(&rows, "prefixes")
		if len(rows) < len(clients) {
			return 0
		}
		for _, r := range rows {
			most = max(most, r.Known)
		}
		return most
	}
	const within = 10 * time.Second // a hundred looks, of half a second or more each
	eventually(e.t, "prefixes known", within, func() bool {
		var wait sync.WaitGroup
		for _, from := range clients {
			wait.Go(func() { s.transfers(from, 6) })
		}
		wait.Wait()
		return seen() >= n
	})
}

type everything struct {
	status   control.Status
	prefixes map[record.Prefix]control.PrefixRow
	rounds   []journal.Round
	planText string
}

func (e *edge) readEverything(clients []netip.Addr) (all everything) {
	e.t.Helper()
	out, errs, code := e.verb("status", "-o", "json")
	check(e.t, json.Unmarshal([]byte(out), &all.status))
	if want := map[bool]int{true: exitOK, false: exitDown}[all.status.Running]; code != want {
		e.t.Errorf("status: exit code %d, want %d: %s", code, want, errs)
	}
	var rows []control.PrefixRow
	e.ask(&rows, "prefixes")
	all.prefixes = map[record.Prefix]control.PrefixRow{}
	for _, r := range rows {
		all.prefixes[r.Prefix] = r
	}
	e.ask(&all.rounds, "rounds")
	all.planText = e.must("plan", "show")
	for _, c := range clients {
		p := prefixOf(e.t, c)
		if _, ok := all.prefixes[p]; !ok {
			e.t.Errorf("prefixes do not have %s", p)
		}
		var x policy.Explanation
		e.ask(&x, "explain", p.String())
		if text := e.must("explain", p.String()); x.Prefix != p || !strings.Contains(text, p.String()) {
			e.t.Errorf("explain %s: %+v\n%s", p, x, text)
		}
	}
	for _, verb := range []string{"prefixes", "rounds", "events"} {
		if out := e.must(verb); strings.TrimSpace(out) == "" {
			e.t.Errorf("%s prints nothing", verb)
		}
	}
	if out := e.must("plan", "diff"); !strings.Contains(out, prefixOf(e.t, clients[0]).String()) {
		e.t.Errorf("plan diff of the first plan does not name its prefix:\n%s", out)
	}
	return all
}

// compareRounds: what was told live stands in the store; later rounds may have come.
func compareRounds(t *testing.T, live, stored []journal.Round) {
	t.Helper()
	byStart := map[int64]journal.Round{}
	for _, r := range stored {
		byStart[r.RoundStart] = r
	}
	for _, r := range live {
		a, _ := json.Marshal(r)
		b, _ := json.Marshal(byStart[r.RoundStart])
		if string(a) != string(b) {
			t.Errorf("round live %s, stored %s", a, b)
		}
	}
	if len(live) < 2 {
		t.Errorf("%d rounds", len(live))
	}
}

// refusals: every verb's exit code says what kind of thing went wrong.
func (e *edge) refusals(planText string) {
	e.t.Helper()
	file := func(name, text string) string {
		path := filepath.Join(e.dir, name)
		check(e.t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	good := file("good.plan", planText)
	broken := file("broken.plan", strings.Replace(planText, "treatment bbr", "treatment cubic", 1))
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{0, "nothing to refuse", []string{"plan", "validate", good}},
		{4, "line ", []string{"plan", "validate", broken}},
		{2, "no such file", []string{"plan", "validate", filepath.Join(e.dir, "none")}},
		{0, "", []string{"plan", "diff", good}},
		{4, "line ", []string{"plan", "diff", broken}},
		{3, "no such plan", []string{"plan", "show", "999"}},
		{2, "plan serial", []string{"plan", "show", "x"}},
		{3, "203.0.113.0/24", []string{"explain", "203.0.113.0/24"}},
		{2, "host bits set", []string{"explain", "203.0.113.7/24"}},
		{2, "length /16", []string{"events", "--prefix", "203.0.0.0/16"}},
		{2, "--output", []string{"status", "-o", "xml"}},
		{2, "no such flag", []string{"rounds", "--many"}},
		{2, "missing PREFIX|ADDRESS", []string{"explain"}},
		{2, "takes no argument", []string{"status", "now"}},
		{2, "unknown command", []string{"statsu"}},
	} {
		out, errs, code := e.verb(c.args...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			e.t.Errorf("congctl %s: exit code %d, want %d and %q:\n%s%s", strings.Join(c.args, " "), code, c.code, c.says, out, errs)
		}
	}
}

// actWhileNothingRuns: the acting verbs write the store, and the next start obeys.
func (e *edge) actWhileNothingRuns() {
	e.t.Helper()
	for _, verb := range []string{"stop", "resume", "plan unfreeze", "plan freeze", "stop"} {
		if out := e.must(strings.Fields(verb)...); !strings.Contains(out, "not running") {
			e.t.Errorf("%s: %s", verb, out)
		}
	}
	if _, errs, code := e.verb("stop", "--evict"); code != 1 || !strings.Contains(errs, "no congctl is running here") {
		e.t.Errorf("stop --evict: exit code %d: %s", code, errs)
	}
	e.start()
	if s, err := e.status(); err != nil || !s.Stopped || !s.Frozen || !s.Agent.Stopped {
		e.t.Errorf("started after stop and freeze: %+v, %v", s, err)
	}
	e.stop()
	e.eventsHave("stop", "resume", "freeze", "unfreeze")
}
