package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse/clickhousetest"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// decidedDay is a day on which one host's loop has decided, and the records that it decided on.
type decidedDay struct {
	cfg     config.Config // with the folder of the loop's store
	rules   policy.Rules
	records []record.Conn
}

// dayHosts is among how many hosts a fleet's day is shared.
const dayHosts = 3

// batches are the records as so many agents would send them, by default without clients' addresses, and what they
// say at the end of each window.
func (d *decidedDay) batches(t *testing.T, heads []journal.Head) (all []batchtest.Batch) {
	t.Helper()
	clients := record.NewClientNumbers([]byte("the salt of the plan"))
	for host := range record.Cookie(dayHosts) {
		h := wire.Header{Boot: record.BootID{0xb0, byte(host)}, Host: fmt.Sprint("edge-", host), PoP: d.cfg.PoP}
		var list []record.Conn
		seal := func() {
			h.Sequence++
			all = append(all, batchtest.New(t, h, list...))
			list, h.Ends = nil, nil
		}
		for i := range d.records {
			if c := d.records[i]; c.Cookie%dayHosts == host {
				c.Client, c.Remote = clients.Of(&c), record.AddressesPrefix.Redact(c.Remote)
				if list = append(list, c); len(list) == 50 {
					seal()
				}
			}
		}
		for _, w := range heads {
			h.Ends = append(h.Ends, wire.WindowEnd{Start: w.Start, Unknown: w.Note, DefaultCongs: []string{"cubic"}})
			if len(h.Ends) == 16 {
				seal()
			}
		}
		if len(h.Ends)+len(list) > 0 {
			seal()
		}
	}
	return all
}

// emptyClickHouse starts a server, and skips the test where there is none.
func emptyClickHouse(t *testing.T) (address string) {
	t.Helper()
	loopbackUp(t)
	return clickhousetest.Start(t).Address()
}

// throughClickHouse decides the day again, as the controller of a fleet whose records came through
// ClickHouse in any order and a tenth of them twice, and returns that controller's configuration.
func (d *decidedDay) throughClickHouse(t *testing.T, address string, loop *sqlite.Store) config.Config {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	_, err := clickhouse.Init(ctx, address)
	check(t, err)
	warehouse, err := clickhouse.Open(ctx, address)
	check(t, err)
	defer warehouse.Close()
	heads := headsOf(t, loop)
	batches := d.batches(t, heads)
	rng := rand.New(rand.NewPCG(1, 17))
	batches = append(batches, batches[:len(batches)/10]...)
	rng.Shuffle(len(batches), func(i, j int) { batches[i], batches[j] = batches[j], batches[i] })
	for part := range slices.Chunk(batches, len(batches)/5+1) {
		w := warehouse.NewWriter(0)
		for _, b := range part {
			check(t, w.Add(b.Body))
		}
		check(t, w.Insert(ctx))
	}
	cfg := d.cfg
	cfg.StateDir, cfg.Fleet.ClickHouse = t.TempDir(), address
	sameSecrets(t, cfg, loop, heads[0].Start-int64(cfg.Window/time.Second))
	clock := dayClock{}
	clock.unix.Store(heads[0].Start + 1)
	p := &popOffice{cfg: cfg, records: &records{}, log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})), now: clock.now}
	check(t, p.open(ctx, d.rules))
	ended := make(chan struct{})
	go func() { defer close(ended); p.Run(ctx) }()
	for i, h := range heads {
		clock.unix.Store(h.Start + int64(cfg.Window/time.Second) + 1)
		p.Came()
		eventually(t, fmt.Sprint("window ", i), wholeTime, func() bool { return len(headsOf(t, p.store)) > i+1 })
	}
	stop()
	<-ended
	check(t, p.shut())
	return cfg
}

// dayClock is the time of a day that has passed.
type dayClock struct{ unix atomic.Int64 }

func (c *dayClock) now() time.Time { return time.Unix(c.unix.Load(), 0) }

// sameSecrets makes a store with the salt and the key of another, so that plans have the same arms and
// signatures. It ends with a window before the day, or the controller would begin with the present.
func sameSecrets(t *testing.T, cfg config.Config, from *sqlite.Store, before int64) {
	t.Helper()
	s, err := openStore(t.Context(), cfg, sqlite.Options{CreatedBy: "test", At: time.Now()})
	check(t, err)
	defer s.Close()
	for _, key := range []string{journal.SettingSalt, journal.SettingSigningKey} {
		v, ok, err := from.Setting(t.Context(), key)
		check(t, err)
		if !ok {
			t.Fatal("the store has no " + key)
		}
		check(t, s.SetSetting(t.Context(), key, v))
	}
	check(t, s.CommitRound(t.Context(), &journal.Commit{Notes: []record.WindowNote{{Start: before, Reason: beforeTheDay}}}))
}

const beforeTheDay = "before the day"

// lineBefore is the window before the day in the evidence of a first decision, which looks back that far.
var lineBefore = regexp.MustCompile(`\{"window_start":\d+,"known":false,"why":"` + beforeTheDay + `","in_group":false\},`)

func headsOf(t *testing.T, s *sqlite.Store) []journal.Head {
	t.Helper()
	heads, err := s.Heads(t.Context(), 0, 1<<40)
	check(t, err)
	return heads
}

// decisions are all that a loop decided, and on what.
type decisions struct {
	Heads   []journal.Head
	Rows    []record.Window
	Rounds  []journal.Round
	Choices []string        // of the rounds
	Events  []journal.Event // but for those of the roll-out, which one host has not
	Plans   []string
	Effect  string // as `congctl effect` says it
}

func decisionsOf(t *testing.T, cfg config.Config, now int64) (d decisions) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), storePath(cfg), sqlite.Options{ReadOnly: true})
	check(t, err)
	defer s.Close()
	ctx := t.Context()
	d.Heads = slices.DeleteFunc(headsOf(t, s), func(h journal.Head) bool { return h.Note == beforeTheDay })
	check(t, s.Windows(ctx, 0, 1<<40, func(w *record.Window) error { d.Rows = append(d.Rows, *w); return nil }))
	d.Rounds, err = s.Rounds(ctx, 1<<20)
	check(t, err)
	for i := range d.Rounds {
		d.Choices = append(d.Choices, string(d.Rounds[i].SelectionJSON))
		d.Rounds[i].SelectionJSON = nil
	}
	all, err := s.Events(ctx, 0, 1<<20)
	check(t, err)
	for _, e := range all { // a roll-out's have other numbers between theirs
		e.ID, e.Evidence = 0, lineBefore.ReplaceAll(e.Evidence, nil)
		if !strings.HasPrefix(e.Kind, "rollout-") {
			d.Events = append(d.Events, e)
		}
	}
	for serial := record.PlanID(1); ; serial++ {
		p, ok, err := s.Plan(ctx, serial)
		check(t, err)
		if !ok {
			break
		}
		d.Plans = append(d.Plans, string(p.Text))
	}
	v, err := effectOf(ctx, cfg, effectQuery{Since: "2h"}, time.Unix(now, 0))
	check(t, err)
	b, err := json.Marshal(v)
	check(t, err)
	d.Effect = string(b)
	return d
}

// again decides the day once more and compares, to the last bit.
func (d *decidedDay) again(t *testing.T, address string) {
	t.Helper()
	loop, err := sqlite.Open(t.Context(), storePath(d.cfg), sqlite.Options{ReadOnly: true})
	check(t, err)
	fleet := d.throughClickHouse(t, address, loop)
	heads := headsOf(t, loop)
	check(t, loop.Close())
	now := heads[len(heads)-1].Start + int64(d.cfg.Window/time.Second)
	want := decisionsOf(t, d.cfg, now)
	kinds := map[string]int{}
	for _, e := range want.Events {
		kinds[e.Kind]++
	}
	t.Logf("%d records, %d windows, %d rows, %d rounds, %d plans, effect of %d bytes, events %v",
		len(d.records), len(want.Heads), len(want.Rows), len(want.Rounds), len(want.Plans), len(want.Effect), kinds)
	if len(want.Plans) < 3 || kinds["selected"] == 0 || kinds["promoted"] == 0 {
		t.Error("on this day too little was decided")
	}
	if diff := cmp.Diff(want, decisionsOf(t, fleet, now)); diff != "" {
		t.Errorf("decided otherwise (-loop +fleet):\n%.5000s", diff)
	}
}
