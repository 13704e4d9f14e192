package clickhouse

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse/clickhousetest"
	"github.com/congctl/congctl/internal/tcp/record"
)

// BenchmarkAdd is what a record costs before the server has it.
func BenchmarkAdd(b *testing.B) {
	w := (&Store{}).NewWriter(0)
	batches := batchtest.Clients(b, rand.New(rand.NewPCG(1, 1)), "fra", windowStart, 4, 5, 1000)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%100 == 0 {
			w.conns.cut(0)
		}
		check(b, w.Add(batches[n%len(batches)].Body))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/record")
}

// BenchmarkInsert is the whole way of records into a server, 100,000 at once, and what they take on
// its disk; then reading them back.
func BenchmarkInsert(b *testing.B) {
	server := clickhousetest.Start(b)
	s := initialised(b, server.Address())
	batches := batchtest.Clients(b, rand.New(rand.NewPCG(1, 1)), "fra", windowStart, 10, 10, 1000)
	w, cpu := s.NewWriter(0), server.CPU()
	for n := 0; b.Loop(); n++ {
		for _, batch := range batches {
			check(b, w.Add(batch.Body))
		}
		check(b, w.Insert(b.Context()))
	}
	b.ReportMetric(float64(b.N)*100_000/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric((server.CPU()-cpu).Seconds()/float64(b.N)*10, "server_cpu_us/record")
	check(b, s.do(b.Context(), "merge", "OPTIMIZE TABLE conns FINAL"))
	var bytes, rows uint64
	check(b, s.conn.QueryRow(b.Context(), "SELECT sum(bytes_on_disk), sum(rows) FROM system.parts WHERE table = 'conns' AND active").Scan(&bytes, &rows))
	b.ReportMetric(float64(bytes)/float64(rows), "B/record")
	b.ReportMetric(float64(rows), "rows_kept")
	largest(b, s, float64(rows))
}

// largest logs what the largest columns take on disk.
func largest(b *testing.B, s *Store, records float64) {
	rows, err := s.conn.Query(b.Context(), "SELECT name, toFloat64(data_compressed_bytes) AS bytes FROM system.columns WHERE database = ? AND table = 'conns' ORDER BY bytes DESC LIMIT 30", s.database)
	check(b, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		var bytes float64
		check(b, rows.Scan(&name, &bytes))
		b.Logf("%5.2f B/record of %s", bytes/records, name)
	}
	check(b, rows.Err())
}

func BenchmarkConns(b *testing.B) {
	s := newStore(b)
	w := s.NewWriter(0)
	for _, batch := range batchtest.Clients(b, rand.New(rand.NewPCG(1, 1)), "fra", windowStart, 10, 10, 1000) {
		check(b, w.Add(batch.Body))
	}
	check(b, w.Insert(b.Context()))
	for name, get := range map[string]func(context.Context, string, int64, func(string, *record.Conn) error) error{"whole": s.Conns, "counted": s.Counted} {
		b.Run(name, func(b *testing.B) {
			rows := 0
			for b.Loop() {
				check(b, get(b.Context(), "fra", windowStart, func(string, *record.Conn) error { rows++; return nil }))
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
