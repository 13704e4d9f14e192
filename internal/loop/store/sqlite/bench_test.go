package sqlite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// benchRows are rows as a busy edge has them: small counts, rates with fractions.
func benchRows(rng *rand.Rand, start int64, n int) []record.Window {
	rows := someWindows(rng, start, n)
	for i := range rows {
		w := &rows[i]
		w.Conns, w.Bytes, w.Cong = rng.Uint32N(300), rng.Uint64N(1<<32), "cubic"
		w.EligibleSentBytes, w.EligibleRetransBytes = rng.Uint64N(1<<32), rng.Uint64N(1<<24)
		w.LogGoodputMean, w.LogGoodputVar, w.Episodes, w.LateConns = w.LogRateMean, w.LogRateVar, rng.Uint64N(50), w.Eligible
		w.LateBytesPerS = [2]float64{rng.Float64() * 1e7, rng.Float64() * 1e7}
	}
	return rows
}

func fill(b *testing.B, windows, prefixes int) *Store {
	b.Helper()
	s := newStore(b)
	rng := rand.New(rand.NewPCG(11, 11))
	for i := range windows {
		start := first + int64(i)*300
		if err := s.CommitRound(bg, &Commit{Closed: true, Start: start, Rows: benchRows(rng, start, prefixes)}); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func BenchmarkCommitRound(b *testing.B) {
	for _, prefixes := range []int{0, 1_000, 20_000} {
		b.Run(fmt.Sprintf("prefixes=%d", prefixes), func(b *testing.B) {
			s := newStore(b)
			rows := benchRows(rand.New(rand.NewPCG(12, 12)), 0, prefixes)
			start := first
			for b.Loop() {
				start += 300
				for i := range rows {
					rows[i].Start = start
				}
				if err := s.CommitRound(bg, &Commit{Closed: true, Start: start, Rows: rows}); err != nil {
					b.Fatal(err)
				}
			}
			if prefixes > 0 {
				_, _ = s.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
				fi, _ := os.Stat(s.Path())
				b.ReportMetric(float64(fi.Size())/float64(b.N)/float64(prefixes), "B/row")
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(prefixes), "us/row")
			}
		})
	}
}

// A start reads the last 24 h. CONGCTL_BENCH_WINDOWS=288 makes it the whole day.
func BenchmarkReplay(b *testing.B) {
	windows := 24
	if v := os.Getenv("CONGCTL_BENCH_WINDOWS"); v != "" {
		_, _ = fmt.Sscan(v, &windows)
	}
	s := fill(b, windows, 5000)
	rows := 0
	b.ResetTimer()
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Windows(bg, 0, 1<<40, func(*record.Window) error { rows++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
}

func BenchmarkOpen(b *testing.B) {
	s := fill(b, 24, 5000)
	_ = s.Close()
	for _, o := range []Options{{ReadOnly: true, SkipCheck: true}, {ReadOnly: true}} {
		b.Run(fmt.Sprintf("check=%v", !o.SkipCheck), func(b *testing.B) {
			for b.Loop() {
				r, err := Open(bg, s.Path(), o)
				if err != nil {
					b.Fatal(err)
				}
				_ = r.Close()
			}
		})
	}
}
