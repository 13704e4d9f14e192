package window

import (
	"runtime"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// BenchmarkMemory reports what a full table costs: 200,000 prefixes with one
// eligible connection each.
func BenchmarkMemory(b *testing.B) {
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		a := aggregatorOf(Config{})
		for i := range 200_000 {
			a.Add(&record.Conn{Cookie: record.Cookie(i), Prefix: record.Prefix(i<<8 | 24), Passive: true, ClientFacing: true,
				Cong: "cubic", WinBytesAcked: 100000, RateBytesPerS: 1, RateSource: record.RateMean})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/200_000, "B/prefix")
		runtime.KeepAlive(a)
	}
}
