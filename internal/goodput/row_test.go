package goodput

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/goodput/accesslog"
	"github.com/congctl/congctl/internal/tcp/record"
)

// block is 2026-11-20T12:00:00Z, a block's start.
const block = 1_795_176_000

var config = Config{BlockSeconds: 1800, WashoutSeconds: 60, MinBytes: 100_000}

func prefix(t *testing.T, s string) record.Prefix {
	t.Helper()
	p, err := record.ParsePrefix(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func response(p record.Prefix, window int64, arm record.Arm, bytes uint64, tookUs int64) *accesslog.Matched {
	m := &accesslog.Matched{Prefix: p, Window: window, Assigned: arm, Big: bytes >= config.MinBytes, Cookie: 1}
	m.StartUs, m.BodyBytes = window*1e6, bytes
	m.EndUs, m.AtUs = m.StartUs+tookUs, m.StartUs
	return m
}

// TestRows: two arms, small and large, wash-out and carry-over.
func TestRows(t *testing.T) {
	a, p := New(config), prefix(t, "203.0.113.0/24")
	a.Response(response(p, block+300, record.ArmTreatment, 200_000, 1e6), "shop")
	a.Response(response(p, block+300, record.ArmTreatment, 400_000, 1e6), "shop")
	a.Response(response(p, block+300, record.ArmTreatment, 50_000, 1e6), "shop")
	a.Response(response(p, block, record.ArmTreatment, 200_000, 1e6), "")
	past := response(p, block, record.ArmTreatment, 300_000, 1e6)
	past.AtUs = (block + 61) * 1e6
	a.Response(past, "")
	carried := response(p, block+300, record.ArmControl, 200_000, 0) // no time at all: a millisecond
	carried.Carryover, carried.Buffered = true, true
	a.Response(carried, "")
	a.Conn(&record.Conn{Passive: true, ClientFacing: true, Prefix: p, Window: block + 600, Assigned: record.ArmControl,
		WinBytesAcked: 400_000, WinBusyUs: 2_500_000, WinCountedBytesAcked: 300_000, WinCountedBusyUs: 1_500_000}, "")
	rows, dropped := a.Flush()
	want := []Row{
		{Key: Key{Window: block, Prefix: p, Arm: record.ArmTreatment}, N: 1, Bytes: 300_000, BytesPerS: []float32{300_000}},
		{Key: Key{Window: block, Prefix: p, Arm: record.ArmTreatment, Washout: true}, N: 1, Bytes: 200_000, BytesPerS: []float32{200_000}},
		{Key: Key{Window: block + 300, Prefix: p, Arm: record.ArmTreatment, Tenant: "shop"}, N: 2, Bytes: 600_000, BytesPerS: []float32{200_000, 400_000}},
		{Key: Key{Window: block + 300, Prefix: p, Arm: record.ArmControl, Carryover: true}, N: 1, Bytes: 200_000, Buffered: 1, BytesPerS: []float32{200_000_000}},
		{Key: Key{Window: block + 300, Prefix: p, Kind: Small, Arm: record.ArmTreatment, Tenant: "shop"}, N: 1, Bytes: 50_000, BytesPerS: []float32{50_000}},
		{Key: Key{Window: block + 600, Prefix: p, Kind: Acked, Arm: record.ArmControl}, N: 1, Bytes: 300_000, BytesPerS: []float32{200_000}},
	}
	if d := cmp.Diff(want, rows); d != "" || dropped != 0 {
		t.Errorf("(-want +got), %d dropped\n%s", dropped, d)
	}
	if again, _ := a.Flush(); len(again) != 0 {
		t.Errorf("rows came twice: %v", again)
	}
}

// What is not the path's doing is no row.
func TestConnsThatCountNowhere(t *testing.T) {
	a := New(config)
	good := record.Conn{Passive: true, ClientFacing: true, Prefix: prefix(t, "203.0.113.0/24"), WinBytesAcked: 100_000, WinCountedBytesAcked: record.LeastGoodputBytes, WinCountedBusyUs: 1}
	for name, change := range map[string]func(*record.Conn){
		"small": func(c *record.Conn) { c.WinBytesAcked-- }, "idle": func(c *record.Conn) { c.WinCountedBusyUs = 0 }, "nothing counts": func(c *record.Conn) { c.WinCountedBytesAcked = 0 },
		"last packets": func(c *record.Conn) { c.WinCountedBytesAcked-- }, "idle, not followed": func(c *record.Conn) { c.RateSource, c.WinCountedBytesAcked = record.RateLast, 0 },
		"outgoing": func(c *record.Conn) { c.Passive = false }, "back office": func(c *record.Conn) { c.ClientFacing = false },
		"no prefix": func(c *record.Conn) { c.Prefix = 0 }, "arm": func(c *record.Conn) { c.Assigned = record.ArmUnknown },
		"applied": func(c *record.Conn) { c.Applied = record.AppliedUnknown },
	} {
		c := good
		change(&c)
		a.Conn(&c, "")
		if rows, _ := a.Flush(); len(rows) != 0 {
			t.Errorf("%s: %v", name, rows)
		}
	}
	a.Conn(&good, "")
	if rows, _ := a.Flush(); len(rows) != 1 {
		t.Errorf("the good one: %v", rows)
	}
}

// A crowded row keeps a sample whose quantiles are the row's, whatever the order.
func TestCrowdedRow(t *testing.T) {
	p, rnd := prefix(t, "203.0.113.0/24"), rand.New(rand.NewPCG(1, 2))
	var all []*accesslog.Matched
	for i := range 5000 {
		m := response(p, block+300, record.ArmNone, 100_000, int64(1e6*math.Exp(rnd.NormFloat64())))
		m.Cookie = record.Cookie(i)
		all = append(all, m)
	}
	flush := func() Row {
		a := New(config)
		for _, m := range all {
			a.Response(m, "")
		}
		rows, _ := a.Flush()
		return rows[0]
	}
	first := flush()
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if d := cmp.Diff(first, flush()); d != "" {
		t.Errorf("order matters:\n%s", d)
	}
	if len(first.BytesPerS) != SampleCap || first.N != 5000 || first.Weight() != 5000.0/SampleCap {
		t.Errorf("%d values for %d, weight %v", len(first.BytesPerS), first.N, first.Weight())
	}
	// The median is exp(0) * 100 kB/s; 64 values know it to a factor of 1.37 in 99 of 100 draws.
	if m := first.BytesPerS[SampleCap/2]; m < 73_000 || m > 137_000 {
		t.Errorf("median %v", m)
	}
	if !slices.IsSorted(first.BytesPerS) {
		t.Error("not ascending")
	}
}

func TestFloodIsCounted(t *testing.T) {
	a := New(config)
	for i := range maxRows + 7 {
		a.Response(response(record.Prefix(1<<40|uint64(i)<<8|56), block, record.ArmNone, 100_000, 1e6), "")
	}
	if rows, dropped := a.Flush(); len(rows) != maxRows || dropped != 7 {
		t.Errorf("%d rows, %d dropped", len(rows), dropped)
	}
}

// A row is a line of JSON and back; docs/format/goodput.md shows this one.
func TestRowJSON(t *testing.T) {
	r := Row{Key: Key{Window: block + 300, Prefix: prefix(t, "203.0.113.0/24"), Arm: record.ArmTreatment, Tenant: "shop"},
		N: 2, Bytes: 600_000, BytesPerS: []float32{200_000, 400_000}}
	text, err := json.Marshal(r)
	want := `{"window_start":1795176300,"prefix":"203.0.113.0/24","kind":"responses","arm":"T","tenant":"shop","n":2,"bytes":600000,"bytes_per_s":[200000,400000]}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	var back Row
	if err := json.Unmarshal(text, &back); err != nil || cmp.Diff(r, back) != "" {
		t.Errorf("%+v, %v", back, err)
	}
	if json.Unmarshal([]byte(`{"kind":"large"}`), &back) == nil {
		t.Error("an unknown kind was taken")
	}
}
