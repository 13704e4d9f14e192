package clickhouse

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse/clickhousetest"
	"github.com/congctl/congctl/internal/loop/store/wire"
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
	onDisk(b, s)
}

// BenchmarkDisk is what real records take on the disk of an old server and of a current engine: those of the files that CONGCTL_RECORDS
// names, a pattern, each a host's. Days of the lab write them with store.records_file.
func BenchmarkDisk(b *testing.B) {
	files, err := filepath.Glob(os.Getenv("CONGCTL_RECORDS"))
	check(b, err)
	if len(files) == 0 {
		b.Skip("needs records of a lab's days: CONGCTL_RECORDS is a pattern of records files; any kernel")
	}
	b.Run("18.16", func(b *testing.B) { disk(b, newStore(b), files) })
	b.Run("current", func(b *testing.B) {
		s := initialised(b, clickhousetest.StartEngine(b))
		check(b, s.do(b.Context(), "set", "ALTER TABLE records MODIFY SETTING min_bytes_for_wide_part = 0")) // as of a part of 10 MB
		disk(b, s, files)
	})
}

func disk(b *testing.B, s *Store, files []string) {
	for b.Loop() {
		w := s.NewWriter(0)
		for host, name := range files {
			h := wire.Header{PoP: "chi", Host: fmt.Sprint("edge", host), Boot: record.BootID{byte(37 * host), 0xb0, byte(91 * host)}}
			for _, batch := range batchesOf(b, name, h) {
				check(b, w.Add(batch.Body))
			}
		}
		check(b, w.Insert(b.Context()))
	}
	onDisk(b, s)
}

// batchesOf are a file's records, each window's in batches of 1000 at most.
func batchesOf(b *testing.B, file string, h wire.Header) (list []batchtest.Batch) {
	f, err := os.Open(file)
	check(b, err)
	defer f.Close()
	var conns []record.Conn
	numbers := record.NewClientNumbers([]byte("salt"))
	end := func() {
		h.Sequence++
		list = append(list, batchtest.New(b, h, conns...))
		conns = nil
	}
	_, err = wire.Read(f, func(_ *wire.Header, c *record.Conn) error {
		if len(conns) == 1000 || len(conns) > 0 && conns[0].Window != c.Window {
			end()
		}
		kept := *c // as an agent sends it
		kept.Client, kept.Remote = numbers.Of(c), record.AddressesPrefix.Redact(c.Remote)
		conns = append(conns, kept)
		return nil
	})
	check(b, err)
	end()
	return list
}

// onDisk reports what a record takes when all is merged, and logs the largest columns. Per part a current engine
// also has statistics of each column, 1 MB whatever its rows, which of a real part are nothing.
func onDisk(b *testing.B, s *Store) {
	check(b, s.do(b.Context(), "merge", "OPTIMIZE TABLE records FINAL"))
	var bytes, records uint64
	check(b, s.conn.QueryRow(b.Context(), "SELECT sum(data_compressed_bytes + marks_bytes), sum(rows) FROM system.parts WHERE table = 'records' AND active").Scan(&bytes, &records))
	b.ReportMetric(float64(bytes)/float64(records), "B/record")
	b.ReportMetric(float64(records), "rows_kept")
	rows, err := s.conn.Query(b.Context(), "SELECT name, toFloat64(data_compressed_bytes) AS bytes FROM system.columns WHERE database = ? AND table = 'records' ORDER BY bytes DESC LIMIT 45", s.database)
	check(b, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		var bytes float64
		check(b, rows.Scan(&name, &bytes))
		b.Logf("%5.2f B/record of %s", bytes/float64(records), name)
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

// BenchmarkWindows is a query of a window's rows from the view: of a PoP without records, which is planning alone, and of
// one with 10,000. Each is also given as so many times the same query of sums over records.
func BenchmarkWindows(b *testing.B) {
	b.Run("18.16", func(b *testing.B) { benchWindows(b, newStore(b)) })
	b.Run("current", func(b *testing.B) { benchWindows(b, initialised(b, clickhousetest.StartEngine(b))) })
}

func benchWindows(b *testing.B, s *Store) {
	insert(b, s, batchtest.Clients(b, rand.New(rand.NewPCG(1, 1)), "fra", windowStart, 10, 1, 1000)...)
	const plain = `SELECT prefix, assigned, sum(weight), sum(win_bytes_acked), quantileExact(0.5)(rate_bytes_per_s) FROM records FINAL WHERE pop = '%s' AND window >= %d GROUP BY prefix, assigned`
	for _, of := range []struct{ name, pop, columns string }{
		{"plan few columns", "none", "prefix, arm, conns, bytes, rate_p50_bytes_per_s"}, {"plan all columns", "none", "*"}, {"read all columns", "fra", "*"},
	} {
		b.Run(of.name, func(b *testing.B) {
			var view, sums time.Duration
			for b.Loop() {
				start := time.Now()
				check(b, s.do(b.Context(), "aggregate", fmt.Sprintf(plain, of.pop, windowStart)))
				sums += time.Since(start)
				start = time.Now()
				check(b, s.do(b.Context(), "read view", fmt.Sprintf("SELECT %s FROM windows WHERE pop = '%s' AND start >= %d", of.columns, of.pop, windowStart)))
				view += time.Since(start)
			}
			b.ReportMetric(view.Seconds()*1000/float64(b.N), "view_ms/op")
			b.ReportMetric(view.Seconds()/sums.Seconds(), "view/sums")
		})
	}
}
