package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// bigDay is a made-up day of 40 networks with 8 to 72 connections in a window, some of them thinned
// out, carried over or under a cap. A tenth of the networks loses packets and gains under BBR.
type bigDay struct {
	*decidedDay
	rng     *rand.Rand
	rows    *window.Aggregator
	brain   *controller.Controller
	plan    *plan.Plan
	cookies record.Cookie
}

const (
	bigNetworks = 40
	bigWindows  = 90
)

// SetPlan, Kill and Evict implement controller.Host without a kernel.
func (d *bigDay) SetPlan(signed []byte) (err error) {
	d.plan, _, err = plan.Parse(signed)
	return err
}
func (d *bigDay) Kill(bool)                             {}
func (d *bigDay) Evict(context.Context) (uint64, error) { return 0, nil }

func (d *bigDay) armAt(p record.Prefix, unix int64) (record.Arm, bool) {
	if d.plan == nil {
		return record.ArmNone, false
	}
	return d.plan.ArmAt(p, unix)
}

func (d *bigDay) conn(network int, start int64) (c record.Conn) {
	client := byte(math.Exp(d.rng.Float64() * 5)) // few have most
	addr := netip.AddrFrom4([4]byte{203, 0, byte(network), client})
	if network%8 == 0 {
		addr = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, byte(network), 0, 0, client, 15: 1})
	}
	d.cookies++
	c = record.Conn{Netns: 1, Cookie: d.cookies, Window: start, Remote: netip.AddrPortFrom(addr, 4000), Local: netip.MustParseAddrPort("198.51.100.1:443"),
		Passive: true, ClientFacing: true, Cong: "cubic", DefaultCong: true, RateSource: record.RateMean}
	c.Prefix, _ = record.PrefixOf(addr)
	arm, planned := d.armAt(c.Prefix, start)
	level, lossy := 1e6*(1+float64(network)/8), network < bigNetworks/10
	if lossy {
		level = 3e5
	}
	if c.Assigned = arm; arm == record.ArmTreatment {
		c.Applied, c.Cong, c.DefaultCong = record.AppliedTreatment, "bbr", false
		c.Capped = d.rng.IntN(4) == 0
		if lossy {
			level *= 2.5
		}
	} else if planned {
		c.Applied = record.AppliedControl
	}
	c.Carryover = planned && d.rng.IntN(20) == 0
	c.RateBytesPerS = level * math.Exp(0.4*d.rng.NormFloat64())
	c.WinBytesAcked = uint64(math.Exp(11.5 + 1.2*d.rng.NormFloat64()))
	c.WinBytesSent = c.WinBytesAcked + 1448*d.rng.Uint64N(9)
	if lossy {
		c.WinBytesRetrans, c.WinCountedBytesRetrans = c.WinBytesAcked/40, c.WinBytesAcked/80
	}
	c.WinBusyUs = uint64(float64(c.WinBytesAcked) / c.RateBytesPerS * 1e6)
	c.WinElapsedUs, c.WinRwndLimitedUs = c.WinBusyUs*5/4, d.rng.Uint64N(c.WinBusyUs/9+1)
	c.WinCountedBytesAcked, c.WinCountedBytesSent, c.WinCountedBusyUs = c.WinBytesAcked/2, c.WinBytesSent/2, c.WinBusyUs/2
	c.WinRateSamples, c.WinLimitedSamples, c.WinEpisodes = 5+d.rng.Uint32N(30), d.rng.Uint32N(5), d.rng.Uint32N(3)
	c.WinLateSamples, c.LateBytesPerS = d.rng.Uint32N(9), c.RateBytesPerS*1.1
	c.Info = inetdiag.TCPInfo{MinRttUs: 60_000 + d.rng.Uint32N(5000), RttUs: 64_000 + d.rng.Uint32N(5000)}
	if d.rng.IntN(5) == 0 {
		c.Weight = 1 + 3*d.rng.Float64()
	}
	return c
}

// decide is one window of the loop.
func (d *bigDay) decide(t *testing.T, start int64) {
	var list []record.Conn
	for network := range bigNetworks {
		for range 8 + d.rng.IntN(65) {
			list = append(list, d.conn(network, start))
		}
	}
	d.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for i := range list {
		d.rows.Add(&list[i])
	}
	d.records = append(d.records, list...)
	rows, _ := d.rows.Flush(start)
	check(t, d.brain.Round(t.Context(), agent.ClosedWindow{Start: start, Rows: rows, DefaultCongs: []string{"cubic"}}))
}

// TestSameDay: what one host's loop decides in a day, with its rows in SQLite, a fleet's controller
// decides of the same records from three hosts in a real ClickHouse: rows, rounds, events, effect, and
// plans with their signatures.
func TestSameDay(t *testing.T) {
	address := emptyClickHouse(t)
	text := fmt.Sprintf("pop: chi\nwindow: 2m\npoll: 12s\nstate_dir: %s\nexperiment: {holdout: 0.03, aa: 0.03, block: 8m}\npolicy: {min_ranked: 12}\n", t.TempDir())
	cfg, err := config.Parse([]byte(text))
	check(t, err)
	rules, err := cfg.Rules()
	check(t, err)
	d := &bigDay{decidedDay: &decidedDay{cfg: cfg, rules: rules}, rng: rand.New(rand.NewPCG(3, 17))}
	e := cfg.Experiment
	d.rows = window.New(window.Config{WindowSeconds: int64(cfg.Window / time.Second), BlockSeconds: int64(e.Block / time.Second), WashoutSeconds: int64(e.Washout / time.Second),
		MinBytes: cfg.Treatment.MinBytes, MaxPrefixes: cfg.MaxPrefixes, ArmAt: d.armAt})
	store, err := openStore(t.Context(), cfg, sqlite.Options{CreatedBy: "test", At: time.Now()})
	check(t, err)
	d.brain, err = controller.New(t.Context(), optionsOf(cfg, rules), store, slog.New(slog.DiscardHandler), time.Now)
	check(t, err)
	check(t, d.brain.Attach(t.Context(), d))
	for i := range int64(bigWindows) {
		d.decide(t, 1_767_225_600+i*int64(cfg.Window/time.Second))
	}
	check(t, store.Close())
	d.again(t, address)
}
