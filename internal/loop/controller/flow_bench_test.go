package controller

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// weighing takes an answer and looks, each 4 MB of it, at what is held meanwhile.
type weighing struct {
	http.ResponseWriter
	bytes, next int
	most        uint64
}

func (w *weighing) Write(b []byte) (int, error) {
	if w.bytes += len(b); w.bytes >= w.next {
		w.next, w.most = w.bytes+4<<20, max(w.most, held())
	}
	return len(b), nil
}

func held() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkPrefixes answers for 100,000 networks, row by row as the dashboard asks, and whole as the verb does: and
// reports the memory that this holds at most beside the engine's. Collecting is most of its time.
func BenchmarkPrefixes(b *testing.B) {
	e := policy.New(policy.DefaultRules().ByLevel(), nil)
	in := policy.Input{Start: 300_000, RoundStart: 300_300}
	for i := range 100_000 {
		p, _ := record.PrefixOf(netip.AddrFrom4([4]byte{byte(20 + i>>16), byte(i >> 8), byte(i), 1}))
		in.Rows = append(in.Rows, record.Window{Start: in.Start, Prefix: p, Cong: "cubic", Control: true, Conns: 9, Eligible: 9, RateMeans: 9, Bytes: 9e6,
			RateBytesPerS: [5]float64{1e5, 2e5, 3e5, 4e5, 5e5}, LogRateMean: 12 + float64(i%7)/10, LogRateVar: 0.4, MinRTTUs: 40_000, SRTTUs: 50_000, RetransShare: 0.01, BusyShare: 0.9, EligibleSentBytes: 9e6})
	}
	e.Round(in)
	v := &View{Controller: &Controller{engine: e, now: func() time.Time { return time.Unix(300_400, 0) }}}
	h := control.NewHandler(slog.New(slog.DiscardHandler), func(context.Context) string { return "" })
	control.HandleView(h, v)
	for name, q := range map[string]string{"flow": `{"sort":"address"}`, "whole": `{}`} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				before := held()
				w := &weighing{ResponseWriter: httptest.NewRecorder()}
				h.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/prefixes", strings.NewReader(q)))
				b.ReportMetric(float64(w.most-before)/1e6, "held-MB")
				b.ReportMetric(float64(w.bytes)/1e6, "answer-MB")
			}
		})
	}
}
