package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
)

// Chaos is a host's bad luck, one piece after another as a seed draws them, under a real `up`.
// After each piece the kernel does what the last plan in the store says, or nothing; `status`
// tells the truth; what `stop` promised holds; and no round that was in the store is gone
// without a word.
//
//	CONGCTL_CHAOS=1h CONGCTL_CHAOS_SEED=7 go test -run '^TestChaos$' -timeout 2h ./cmd/congctl
const (
	chaosEnv      = "CONGCTL_CHAOS" // for how long
	chaosSeedEnv  = "CONGCTL_CHAOS_SEED"
	chaosClockEnv = "CONGCTL_CHAOS_CLOCK" // not empty: the machine's clock is ours to set
	chaosDisk     = "size=48m,mode=700"   // more than a store takes in an hour, and quick to fill
	mostListed    = 6                     // networks in the configuration
)

// chaos is the host, and what must be true of it.
type chaos struct {
	*testing.T
	e        *edge
	s        *server
	rnd      *rand.Rand
	listed   int            // so many networks, from the first, are always treated
	stop     bool           // what the last answer to a stop or a resume promised
	stopNext bool           // the same for the next start
	rounds   map[int64]bool // committed, by their windows
	free     func()         // empties a full disk; nil where it has room
	ahead    time.Duration  // of the machine's clock
	stalls   *stallMeter
}

func TestChaos(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv(chaosEnv))
	if err != nil {
		t.Skipf("takes as long as %s says, as 5m (tools/check.sh chaos); minimum kernel 5.15", chaosEnv)
	}
	seed, err := strconv.ParseUint(os.Getenv(chaosSeedEnv), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%s=%d", chaosSeedEnv, seed)
	c := newChaos(t, seed)
	done := map[string]int{}
	for began := time.Now(); time.Since(began) < length && !t.Failed(); { // by the clock that is never set
		piece := bad[c.rnd.IntN(len(bad))]
		if piece.clock && os.Getenv(chaosClockEnv) == "" || piece.room && c.free != nil {
			continue
		}
		done[piece.name]++
		t.Logf("%s after the start: %s", time.Since(began).Round(time.Second), piece.name)
		piece.do(c)
		c.look(piece.name)
	}
	c.mend()
	c.look("the end")
	t.Logf("%d rounds at the end; %v", len(c.rounds), done)
}

func newChaos(t *testing.T, seed uint64) *chaos {
	e := newEdge(t, quickSettings())
	state := filepath.Join(e.dir, "state")
	check(t, os.MkdirAll(state, 0o700))
	check(t, unix.Mount("none", state, "tmpfs", 0, chaosDisk)) // in the tests' own mount namespace
	t.Cleanup(func() { _ = unix.Unmount(state, unix.MNT_DETACH) })
	c := &chaos{T: t, e: e, rnd: rand.New(rand.NewPCG(seed, 0)), rounds: map[int64]bool{}}
	t.Cleanup(c.mend)
	c.list(3)
	e.writeConfig()
	e.start()
	c.stalls = watchStalls(t)
	c.s = newServer(t)
	return c
}

// list makes so many networks always treated by the next configuration.
func (c *chaos) list(n int) {
	var entries []string
	for i := range n {
		entries = append(entries, prefixOf(c, client(i, 7)).String()+" a test's choice")
	}
	c.listed = n
	c.e.cfg.Lists = `, control: "off", always: [` + strings.Join(entries, ", ") + "]"
}

// look holds kernel, status and store against each other. It waits only for a plan that the
// store has to come into force, and for the next one after a reload.
func (c *chaos) look(after string) {
	c.Helper()
	eventually(c, "the configured plan in force after "+after, patience, func() bool {
		s := c.status()
		if s.Stopped != c.stop || s.Agent.Stopped != c.stop || s.StoppedNext != c.stopNext {
			c.Fatalf("after %s: stopped in the kernel %t, by status %t, at the next start %t; promised %t and %t; alarms %q", after,
				s.Agent.Stopped, s.Stopped, s.StoppedNext, c.stop, c.stopNext, s.Agent.Alarms)
		}
		return c.free != nil || s.Agent.Plan == uint64(s.Plan) && s.Agent.InForce == c.listed
	})
	p := c.planInStore()
	for _, i := range []int{c.rnd.IntN(c.listed), c.rnd.IntN(mostListed), mostListed + c.rnd.IntN(networks)} {
		from := client(i, 7)
		planned := slices.ContainsFunc(p.Entries, func(e plan.Entry) bool { return e.Prefix == prefixOf(c, from) })
		want := "cubic"
		if planned && !c.stop {
			want = "bbr"
		}
		got := c.s.transfer(from, large)
		if got == "cubic" && c.stalls.longest() > lateRenewal { // the plan expires by itself while the machine stands still
			c.Logf("the machine stood still for %s", c.stalls.longest())
			c.pollTwice()
			got = c.s.transfer(from, large)
		}
		if got != want && !(got == "cubic" && c.free != nil) {
			c.pollTwice()
			c.Errorf("after %s: %s runs %s, want %s: stopped %t, in plan %d of the store %t; its records %s; status %+v", after, from, got, want,
				c.stop, p.Serial, planned, c.recordsOf(from), c.status().Agent)
		}
	}
	c.stalls.forget()
	c.keepsRounds(after)
}

// lateRenewal: an expiry is 9 s, and renewed fifteen times in its life.
const lateRenewal = 8 * time.Second

func (c *chaos) pollTwice() {
	c.Helper()
	polls := c.status().Agent.Polls
	eventually(c, "two polls", patience, func() bool { return c.status().Agent.Polls > polls+1 })
}

// recordsOf says what the kernel did in the last connections from there.
func (c *chaos) recordsOf(from netip.Addr) string {
	var said []string
	for _, r := range c.e.records() {
		if r.Remote.Addr().Unmap() == from {
			said = append(said, fmt.Sprintf("plan %d: %s %s, crossed %d", r.Plan, r.Assigned, r.Applied, r.CrossedNs))
		}
	}
	return strings.Join(said[max(0, len(said)-3):], "; ")
}

func (c *chaos) status() control.Status {
	c.Helper()
	s, err := c.e.status()
	check(c, err)
	return s
}

// alarm reports whether the status has one that begins so.
func (c *chaos) alarm(begins string) bool {
	return slices.ContainsFunc(c.status().Agent.Alarms, func(a string) bool { return strings.HasPrefix(a, begins) })
}

// read opens the store as any process may.
func (c *chaos) read(do func(context.Context, *sqlite.Store) error) {
	c.Helper()
	s, err := sqlite.Open(c.Context(), c.e.storePath(), sqlite.Options{ReadOnly: true})
	check(c, err)
	check(c, errors.Join(do(c.Context(), s), s.Close()))
}

func (c *chaos) planInStore() (p *plan.Plan) {
	c.Helper()
	p = &plan.Plan{}
	c.read(func(ctx context.Context, s *sqlite.Store) error {
		f, ok, err := s.LatestPlan(ctx)
		if err == nil && ok {
			p, _, err = plan.Parse(f.Text)
		}
		return err
	})
	return p
}

// keepsRounds: what was committed is there, or the status says that it is missing.
func (c *chaos) keepsRounds(after string) {
	c.Helper()
	now := map[int64]bool{}
	c.read(func(ctx context.Context, s *sqlite.Store) error {
		heads, err := s.Heads(ctx, 0, 1<<40)
		for _, h := range heads {
			now[h.Start] = true
		}
		return err
	})
	lost := 0
	for start := range c.rounds {
		if !now[start] {
			lost++
		}
	}
	if lost > 0 && !c.alarm("missing: ") {
		c.Errorf("after %s: %d of %d rounds are gone without a word", after, lost, len(c.rounds))
	}
	c.rounds = now
}
