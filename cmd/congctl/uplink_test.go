package main

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/costtest"
	"github.com/congctl/congctl/internal/fleet/store/batchlog"
	"github.com/congctl/congctl/internal/fleet/uplink"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

var uplinkBoot = record.BootID{7}

// uplinkSink is a far side: the batches that came, by name, and how often.
type uplinkSink struct {
	mu     sync.Mutex
	came   map[uint64]int
	conns  int // each batch once
	ends   []wire.WindowEnd
	answer func(sequence uint64) error
}

func (s *uplinkSink) Send(_ context.Context, frame []byte) error {
	var fr wire.FrameReader
	fr.Reset(bytes.NewReader(frame))
	batch, end, err := fr.Next()
	if err != nil || end != int64(len(frame)) {
		return errors.Join(errors.New("no frame"), err)
	}
	h, err := wire.DecodeHeader(batch)
	if err != nil {
		return err
	}
	n, err := wire.CountConns(batch)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer != nil {
		if err := s.answer(h.Sequence); err != nil {
			return err
		}
	}
	if s.came[h.Sequence]++; s.came[h.Sequence] == 1 {
		s.conns += n
		s.ends = append(s.ends, h.Ends...)
	}
	return nil
}

// crashing is a spool whose process dies between Send and Delivered.
type crashing struct {
	*batchlog.Log
	die func()
}

func (c crashing) Delivered() error { c.die(); return nil }

// uplinkConn is a download in progress, as an edge sees many.
func uplinkConn(cookie uint64) *record.Conn {
	return &record.Conn{
		Netns: 1, Cookie: record.Cookie(cookie), Window: 1767322800, AtNs: 1767322890123456789,
		Local: netip.MustParseAddrPort("198.51.100.1:443"), Remote: netip.MustParseAddrPort("203.0.113.77:52011"), Prefix: 0xcb007100 | 24,
		Passive: true, ClientFacing: true, Cong: "cubic", DefaultCong: true, Assigned: record.ArmControl, Applied: record.AppliedControl,
		Plan: 412, Crossings: 2, CrossedNs: 1767322850123456789, WinBytesAcked: 5_432_100, WinBytesSent: 5_500_000, WinBytesRetrans: 43_440,
		WinElapsedUs: 90_000_000, WinBusyUs: 12_345_678, WinRateSamples: 210, WinLimitedSamples: 12, RateBytesPerS: 612_345.678, RateSource: record.RateMean,
		Info: inetdiag.TCPInfo{State: 1, Options: 7, SndWscale: 7, RcvWscale: 7, RtoUs: 254_000, SndMss: 1448, RcvMss: 536, Unacked: 21, Pmtu: 1500,
			RttUs: 52_345, RttvarUs: 2345, SndSsthresh: 24, SndCwnd: 31, Advmss: 1448, Reordering: 3, TotalRetrans: 30, PacingRate: 1_028_000,
			MaxPacingRate: 1<<64 - 1, BytesAcked: 15_432_100, BytesReceived: 4400, SegsOut: 10_700, SegsIn: 5300, MinRttUs: 41_200, DataSegsIn: 9,
			DataSegsOut: 10_690, DeliveryRate: 598_765, BusyTimeUs: 32_345_678, Delivered: 10_650, BytesSent: 15_500_000, BytesRetrans: 43_440, Len: 248},
	}
}

func uplinkOf(o uplink.Options, spool uplink.Spool, sink uplink.Sink) *uplink.Uplink {
	o.Boot, o.Window, o.FlushEvery = uplinkBoot, 300*time.Second, time.Second
	return uplink.New(o, uplink.Deps{Coder: &uplinkBatch{head: wire.Header{Boot: uplinkBoot, Host: "edge1", PoP: "fra"}}, Spool: spool, Sink: sink,
		Refused: func(error) bool { return false }})
}

func spoolOf(t testing.TB, dir string) *batchlog.Log {
	t.Helper()
	l, err := batchlog.Open(batchlog.Options{Dir: dir, MaxBytes: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestUplinkOverACrash: what was sent and not marked so comes again after the restart, under its own name, and what
// waited comes with it.
func TestUplinkOverACrash(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	far := &uplinkSink{came: map[uint64]int{}}
	ctx, die := context.WithTimeout(t.Context(), time.Minute)
	defer die()
	log := spoolOf(t, dir)
	first := uplinkOf(uplink.Options{FirstSequence: 1000}, crashing{log, die}, far)
	for i := range uint64(3500) {
		first.Record(uplinkConn(i))
	}
	first.EndWindow(uplink.WindowEnd{Start: 1767322800, DefaultCongs: []string{"cubic"}})
	if err := errors.Join(first.Run(ctx), log.Close()); err != nil {
		t.Fatal(err)
	}
	made := first.Status().Batches
	before := len(far.came)
	if before == 0 || before == int(made) {
		t.Fatalf("%d of %d batches came before the crash", before, made)
	}

	log = spoolOf(t, dir)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	second := uplinkOf(uplink.Options{FirstSequence: 2000}, log, far)
	done := make(chan error, 1)
	go func() { done <- second.Run(ctx) }()
	second.Record(uplinkConn(9999))
	for n := 0; (n != 0 || second.Status().SentBatches < made+1) && ctx.Err() == nil; n, _, _ = log.Waiting() {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := errors.Join(<-done, log.Close()); err != nil {
		t.Fatal(err)
	}
	if far.conns != 3501 || len(far.came) != int(made)+1 || far.came[1000] != 2 || far.came[2000] != 1 || len(far.ends) != 1 {
		t.Errorf("%d records, batches %v, ends %v", far.conns, far.came, far.ends)
	}
}

// BenchmarkUplink is the way of a record from the agent's loop over the disk to the sink. CPU is that of the process.
func BenchmarkUplink(b *testing.B) {
	log := spoolOf(b, filepath.Join(b.TempDir(), "spool"))
	far := &uplinkSink{came: map[uint64]int{}}
	u := uplinkOf(uplink.Options{}, log, far)
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- u.Run(ctx) }()
	c := uplinkConn(1)
	b.ReportAllocs()
	before := costtest.CPU()
	for b.Loop() {
		c.Cookie++
		u.Record(c)
		for c.Cookie%1000 == 0 && u.Status().QueuedBatches > 8 {
			time.Sleep(100 * time.Microsecond) // the disk is slower than one core
		}
	}
	for n := 1; n > 0 || u.Status().QueuedBatches > 0; n, _, _ = log.Waiting() {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	cpu := costtest.CPU() - before
	stop()
	if err := errors.Join(<-done, log.Close()); err != nil {
		b.Fatal(err)
	}
	s := u.Status()
	if s.LostRecords+s.DroppedRecords > 0 {
		b.Fatalf("%+v", s)
	}
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/record")
	b.ReportMetric(float64(s.SentBytes)/float64(max(1, far.conns)), "B/record")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
