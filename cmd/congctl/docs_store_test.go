package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/logline"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// The examples of the documentation run against a store that holds one quiet
// morning of an imagined edge, made by the real controller from made-up windows.
// Salt, key and clock are fixed, so that every example has one right output.

var (
	docsNow   = time.Date(2026, 11, 20, 12, 0, 20, 0, time.UTC) // when the examples run
	docsStart = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)   // first window
)

const (
	docsWindow = 5 * time.Minute
	docsBlock  = 30 * time.Minute
)

// docsNetwork is one client network of the edge; the zero value of a field is the ordinary.
type docsNetwork struct {
	prefix    string
	kBPerS    float64 // median under the default congestion control
	good      float64 // in every other half hour instead
	from      time.Duration
	eligible  uint32
	rttMs     float64
	rwndShare float64
	oddOnly   bool    // clients in every second window only
	gain      float64 // of the treatment; 0 is none
	again     float64 // share retransmitted; 0 is 0.1 %
}

func docsNetworks() []docsNetwork {
	list := []docsNetwork{
		{prefix: "203.0.113.0/24", kBPerS: 250, eligible: 9, rttMs: 85, gain: 2.6, again: 0.012},
		{prefix: "2001:db8:0:ab00::/56", kBPerS: 310, eligible: 6, rttMs: 140, gain: 1.08, from: 30 * time.Minute, again: 0.005},
		{prefix: "198.51.100.0/24", kBPerS: 220, eligible: 8, rttMs: 60, rwndShare: 0.6, again: 0.012},
		{prefix: "192.0.2.0/24", kBPerS: 340, eligible: 12, rttMs: 0.6, again: 0.012},
		{prefix: "198.18.7.0/24", kBPerS: 360, good: 2600, eligible: 7, rttMs: 70, again: 0.012},
		{prefix: "198.18.11.0/24", kBPerS: 420, eligible: 10, rttMs: 45, again: 0.012},
		{prefix: "198.18.9.0/24", kBPerS: 900, eligible: 1, rttMs: 50, oddOnly: true},
	}
	for i := range 17 {
		n := docsNetwork{prefix: fmt.Sprintf("198.18.%d.0/24", 20+i), kBPerS: 1000 + 220*float64(i), eligible: uint32(5 + i%7), rttMs: 15 + 4*float64(i)}
		if i%3 == 2 {
			n.prefix = fmt.Sprintf("2001:db8:1:%x00::/56", 16+i)
		}
		list = append(list, n)
	}
	return list
}

// row is the network's row of a window. In force is the plan, nil for none.
func (n docsNetwork) row(at time.Time, window int, inForce *plan.Plan) (record.Window, bool) {
	p, err := record.ParsePrefix(n.prefix)
	since := at.Sub(docsStart)
	if err != nil || since < n.from || n.oddOnly && window%2 == 0 {
		return record.Window{}, false
	}
	w := record.Window{
		Start: at.Unix(), Prefix: p, Cong: "cubic", Control: true, Conns: n.eligible*3 + 2, Eligible: n.eligible, RateMeans: n.eligible,
		Bytes: uint64(n.eligible) * 4_000_000, MinRTTUs: n.rttMs * 1000, SRTTUs: n.rttMs * 1100, RetransShare: max(n.again, 0.001),
		RwndShare: n.rwndShare, BusyShare: 0.9, AppLimitedShare: 0.1,
	}
	rate := n.kBPerS
	if n.good > 0 && int(since/docsBlock)%2 == 1 {
		rate = n.good
	}
	if inForce != nil {
		if arm, ok := inForce.ArmAt(p, at.Unix()); ok {
			w.Arm = arm
			w.Control = arm != record.ArmTreatment
		}
	}
	if w.Arm == record.ArmTreatment {
		w.Cong, rate = "bbr", rate*max(n.gain, 1)
	}
	rate *= 1 + 0.04*math.Sin(float64(window)*1.7+n.rttMs) // no two windows alike
	for q, f := range [...]float64{0.4, 0.5, 0.7, 1, 1.5} {
		w.RateBytesPerS[q] = math.Round(rate * 1000 * f)
	}
	w.LogRateMean, w.LogRateVar = math.Log(rate*1000), 0.4
	w.EligibleSentBytes, w.EligibleRetransBytes = w.Bytes, uint64(w.RetransShare*float64(w.Bytes))
	return w, true
}

// docsHost is a kernel that takes every plan.
type docsHost struct{}

func (docsHost) SetPlan([]byte) error                  { return nil }
func (docsHost) Kill(bool)                             {}
func (docsHost) Evict(context.Context) (uint64, error) { return 0, nil }

// docsController opens the controller of the examples on a store, at a time.
func docsController(ctx context.Context, s *sqlite.Store, log *slog.Logger, now func() time.Time) (*controller.Controller, error) {
	c, err := controller.New(ctx, controller.Options{
		PoP: "ams1", Rules: policy.DefaultRules(), HoldoutPermille: 50, AAPermille: 50, Treatment: "bbr", MinBytes: 100_000,
	}, s, log, now)
	if err != nil {
		return nil, err
	}
	return c, c.Attach(ctx, docsHost{})
}

// docsDB is the file of the store of the examples.
func docsDB(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "congctl.db")
	docsStore(t, path)
	db, err := os.ReadFile(path) // closed: nobody's lock is at stake
	check(t, err)
	return db
}

// docsStore makes the store of the examples and returns what journald had of it.
func docsStore(t *testing.T, path string) string {
	t.Helper()
	var log strings.Builder
	ctx, now := t.Context(), docsStart
	s, err := sqlite.Open(ctx, path, sqlite.Options{CreatedBy: "congctl devel", At: now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for key, n := range map[string]int{journal.SettingSalt: 16, journal.SettingSigningKey: 32} {
		if err := s.SetSetting(ctx, key, []byte("0123456789abcdef0123456789abcdef")[:n]); err != nil {
			t.Fatal(err)
		}
	}
	c, err := docsController(ctx, s, logline.New(&log, logline.Options{Journal: true}), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; now.Add(docsWindow).Before(docsNow); i++ {
		out := docsOut(t, s, now, i)
		now = now.Add(docsWindow)
		if err := c.Round(ctx, out); err != nil {
			t.Fatal(err)
		}
		if i == 37 {
			docsIncident(t, c)
		}
	}
	return log.String()
}

// docsIncident is what an operator did one minute.
func docsIncident(t *testing.T, c *controller.Controller) {
	t.Helper()
	if err := c.Tell(t.Context(), controller.KindAlarm+"coverage", `eBPF saw 861 of 1204 new passive connections (71.5 %, limit 99 %): sock_ops program id 41 (congctl host check has its name) may replace our callback flags`); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(t.Context(), false, "maria (uid 1000, pid 4211)"); err != nil {
		t.Fatal(err)
	}
	if err := c.Resume(t.Context(), "maria (uid 1000, pid 4230)"); err != nil {
		t.Fatal(err)
	}
	if err := c.Tell(t.Context(), controller.KindReload, "by SIGHUP; plan.max is 400 (was 500)"); err != nil {
		t.Fatal(err)
	}
}

func docsOut(t *testing.T, s *sqlite.Store, at time.Time, window int) agent.ClosedWindow {
	t.Helper()
	f, ok, err := s.LatestPlan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var p *plan.Plan
	if ok {
		if p, _, err = plan.Parse(f.Text); err != nil {
			t.Fatal(err)
		}
	}
	out := agent.ClosedWindow{Start: at.Unix()}
	if window == 25 {
		out.Unknown = "wall clock stepped by +612 s"
	}
	for _, n := range docsNetworks() {
		if w, ok := n.row(at, window, p); ok {
			out.Rows = append(out.Rows, w)
		}
	}
	return out
}

// docsFiles puts the files that examples name into dir: a configuration whose
// store is state, and a records file.
func docsFiles(t *testing.T, dir, state string) {
	t.Helper()
	text := fmt.Sprintf("pop: ams1\nstate_dir: %s\nsocket: %s\n", state, filepath.Join(state, "s"))
	if err := os.WriteFile(filepath.Join(dir, "congctl.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "records-20261120T080000.000Z.pb")
	w, err := wire.Create(name, wire.Header{Host: "edge1", PoP: "ams1"}, wire.Limits{}, record.AddressesPrefix)
	if err != nil {
		t.Fatal(err)
	}
	client := netip.MustParseAddrPort("203.0.113.7:51000")
	p, _ := record.PrefixOf(client.Addr())
	err = w.Add(&record.Conn{
		Netns: 1, Cookie: 8193, Window: docsStart.Unix(), AtNs: docsStart.Add(41 * time.Second).UnixNano(), End: record.EndClose,
		Local: netip.MustParseAddrPort("192.0.2.1:443"), Remote: client, Prefix: p, Passive: true, ClientFacing: true,
		Cong: "bbr", Assigned: record.ArmTreatment, Applied: record.AppliedTreatment, Plan: 1, Crossings: 1,
		WinBytesAcked: 5_200_000, WinRateSamples: 64, RateBytesPerS: 350_000, RateSource: record.RateMean,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
