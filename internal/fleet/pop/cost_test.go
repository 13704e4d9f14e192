package pop

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/record"
)

// withKinds is a town with two honest kinds of congestion control, and what one more host sends first.
func withKinds(hosts, hostile int, cong func(i int) string) *town {
	f := newTown(times(hosts, 1000))
	for i := range f.sent {
		if i%3 == 0 {
			f.sent[i].conn.Cong, f.sent[i].conn.DefaultCong = "bbr", false
		}
	}
	honest := f.sent
	f.sent = nil
	for i := range hostile {
		f.add("!", networkOf(i%networks), 1e9, 0)
		f.sent[i].conn.Cong, f.sent[i].conn.WinBytesAcked = cong(i), 1<<40
	}
	f.sent = append(f.sent, honest...)
	return f
}

// TestKinds: a host that invents congestion controls gets few rows, and takes none from the others.
func TestKinds(t *testing.T) {
	for name, c := range map[string]struct {
		hosts, n int
		cong     func(i int) string
	}{
		"each its own":                  {5, 80_000, func(i int) string { return fmt.Sprintf("!%d", i) }},
		"each its own, of two hosts":    {1, 10_000, func(i int) string { return fmt.Sprintf("!%d", i) }},
		"eight, in each network":        {5, 10_000, func(i int) string { return fmt.Sprintf("!%d", i/networks%8) }},
		"eight, of two hosts":           {1, 10_000, func(i int) string { return fmt.Sprintf("!%d", i/networks%8) }},
		"honest ones, and then its own": {3, 10_000, func(i int) string { return []string{"cubic", "bbr", fmt.Sprintf("!%d", i)}[min(i, 2)] }},
		"its own, and then honest ones": {3, 10_000, func(i int) string { return []string{fmt.Sprintf("!%d", i), "cubic"}[i/9_991] }},
	} {
		honest := withKinds(c.hosts, 0, nil)
		f := withKinds(c.hosts, c.n, c.cong)
		before := honest.gather(t, honest.pop(t, 2*networks))
		p := f.pop(t, 2*networks)
		var rows []record.Window
		bytes := allocated(func() { rows = f.gather(t, p) })
		congs, conns := map[string]bool{}, map[string]uint32{}
		for _, r := range rows {
			congs[r.Cong] = true
			conns[r.Prefix.String()+r.Cong] += r.Conns
		}
		if len(congs) > window.MaxCongs || len(rows) > window.MaxCongs*networks {
			t.Errorf("%s: %d rows, of %d congestion controls", name, len(rows), len(congs))
		}
		for _, r := range before {
			if conns[r.Prefix.String()+r.Cong] < r.Conns {
				t.Errorf("%s: of %s, %d connections with %s, some are missing", name, r.Prefix, r.Conns, r.Cong)
				break
			}
		}
		t.Logf("%s: %d rows of %d congestion controls, %d kB allocated for %d records", name, len(rows), len(congs), bytes>>10, len(f.sent))
		if most := uint64(2<<10*len(f.sent)) + 16<<20; bytes > most { // the town's copy of each, twice; samples; two windows
			t.Errorf("%s: %d bytes allocated, at most %d", name, bytes, most)
		}
	}
}

// TestRecordsOfOneHost beyond what an agent follows are in no row, and no copy of them is kept.
func TestRecordsOfOneHost(t *testing.T) {
	s := newTally(100, 1e5)
	c := record.Conn{ClientFacing: true, Prefix: networkOf(1), Cong: "cubic"}
	s.add("mallory", &c)
	s.hosts["mallory"].records = maxRecords - 1
	if !s.add("mallory", &c) || s.add("mallory", &c) || s.hosts["mallory"].conns != 3 || s.hosts["mallory"].nets[c.Prefix] != 2 {
		t.Errorf("%+v", s.hosts["mallory"])
	}
	s.add("edge-1", &c)
	b := s.bounds()
	kept := uint64(0)
	for range 3 {
		kept += b.take("mallory", &c)
	}
	if kept != 2 {
		t.Errorf("%d connections count", kept)
	}
}

// TestReasonsAreCut: what a host says of its window goes on into the round's note.
func TestReasonsAreCut(t *testing.T) {
	long := strings.Repeat("\x1b[2J\u202e", 60_000)
	for name, e := range map[string]End{
		"unknown": {Unknown: long}, "starved": {Starved: long}, "a line": {Unknown: "a\nb"}, "a host from a table": {Host: long, Unknown: "x"},
	} {
		f := newTown(nil)
		if e.Host == "" {
			e.Host = "mallory"
		}
		f.ends = []End{e}
		c, err := f.pop(t, 10).gather(w, f.ends)
		for _, text := range []string{c.Unknown, c.Starved} {
			if err != nil || len(text) > foreign.MaxText || strings.ContainsAny(text, "\x1b\n\u202e") {
				t.Errorf("%s: %d bytes, %.60q, %v", name, len(text), text, err)
			}
		}
		if c.Unknown+c.Starved == "" {
			t.Errorf("%s: nothing is left", name)
		}
	}
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
