package weblog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/goodput"
	"github.com/congctl/congctl/internal/goodput/accesslog"
	"github.com/congctl/congctl/internal/goodput/network"
	"github.com/congctl/congctl/internal/tcp/record"
)

// noon is 2026-11-20T12:00:00Z.
const noon = 1_795_176_000

type fakeSink struct {
	batches []goodput.Batch
	err     error
}

func (s *fakeSink) Append(b goodput.Batch) error {
	s.batches = append(s.batches, b)
	return s.err
}

// metered is a meter on one file.
type metered struct {
	*Meter
	path   string
	sink   fakeSink
	alarms []string
	log    bytes.Buffer
}

func newMetered(t *testing.T) *metered {
	x := &metered{path: filepath.Join(t.TempDir(), "access.log")}
	if err := os.WriteFile(x.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Logs: []string{x.path}, Format: accesslog.Lines, Window: 5 * time.Minute, Block: 30 * time.Minute, Washout: 5 * time.Minute, MinBytes: 100_000}
	tenants := network.Tenants{{Name: "shop", Hosts: []string{"shop.example"}}, {Name: "tls", Ports: []uint16{443}}}
	x.Meter = New(o, &x.sink, tenants, func(kind, text string) { x.alarms = append(x.alarms, kind+": "+text) },
		slog.New(slog.NewTextHandler(&x.log, nil)))
	x.read()
	t.Cleanup(func() { x.close() })
	return x
}

func (x *metered) write(t *testing.T, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(x.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
}

func lineOf(client string, at, us int64, bytes uint64) string {
	c := netip.MustParseAddrPort(client)
	return fmt.Sprintf(`{"start_us":%d,"end_us":%d,"client":"%s","client_port":%d,"server":"192.0.2.1","server_port":443,`+
		`"host":"shop.example","sent_bytes":%d,"body_bytes":%d,"protocol":"HTTP/1.1"}`,
		at*1e6, at*1e6+us, c.Addr(), c.Port(), bytes, bytes)
}

func connOf(client string, window int64, arm record.Arm) *record.Conn {
	c := &record.Conn{Netns: 1, Cookie: 1, Window: window, Passive: true, ClientFacing: true, Assigned: arm, Remote: netip.MustParseAddrPort(client),
		Local: netip.MustParseAddrPort("192.0.2.1:443"), WinBytesAcked: 600_000, WinCountedBytesAcked: 500_000, WinCountedBusyUs: 1_000_000}
	c.Prefix, _ = record.PrefixOf(c.Remote.Addr())
	return c
}

// A window's lines and records become rows when the next window is in.
func TestMeter(t *testing.T) {
	x := newMetered(t)
	x.write(t, lineOf("203.0.113.7:4000", noon+310, 1e6, 300_000), lineOf("203.0.113.7:4000", noon+320, 1e6, 400_000),
		lineOf("203.0.113.7:4000", noon+330, 1e5, 4_000), lineOf("203.0.113.9:1", noon+330, 1e5, 4_000), "203.0.113.7 secret")
	x.Record(connOf("203.0.113.7:4000", noon+300, record.ArmTreatment))
	x.read()
	x.settle(noon + 300)
	if len(x.sink.batches) != 1 {
		t.Fatalf("%d batches", len(x.sink.batches))
	}
	b := x.sink.batches[0]
	var got []string
	for _, r := range b.Rows {
		got = append(got, fmt.Sprintf("%s %s %s %s n=%d %v", r.Prefix, r.Kind, r.Arm, r.Tenant, r.N, r.BytesPerS))
	}
	want := "203.0.113.0/24 responses T shop n=2 [300000 400000]\n203.0.113.0/24 small T shop n=1 [40000]\n203.0.113.0/24 acked T tls n=1 [500000]"
	if strings.Join(got, "\n") != want {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if b.BadLine != 1 || b.Tally.Matched != 3 || b.Tally.Unmatched[accesslog.NoConnection] != 1 {
		t.Errorf("%+v", b)
	}
	if text := x.log.String(); !strings.Contains(text, "line 5") || strings.Contains(text, "secret") || strings.Contains(text, "203.0.113") {
		t.Errorf("a bad line is named, and not quoted: %s", text)
	}
}

// Run takes windows and stops.
func TestRun(t *testing.T) {
	x := newMetered(t)
	x.write(t, lineOf("203.0.113.7:4000", noon+310, 1e6, 300_000))
	x.Record(connOf("203.0.113.7:4000", noon+300, record.ArmNone))
	stop := make(chan struct{})
	done := make(chan error)
	go func() { done <- x.Run(stop) }()
	x.Window(noon + 600)
	for len(x.windows) > 0 {
		time.Sleep(time.Millisecond)
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(x.sink.batches) != 1 || x.sink.batches[0].Window != noon+300 || x.sink.batches[0].Tally.Matched != 1 {
		t.Errorf("%+v", x.sink.batches)
	}
}

// What somebody should look at is told once, and again after it was over.
func TestAlarms(t *testing.T) {
	x := newMetered(t)
	flood := func(start int64) {
		for i := range int64(200) {
			x.write(t, lineOf("203.0.113.7:4000", start+i, 1e6, 300_000), "bad")
		}
		x.read()
		x.settle(start)
	}
	x.Record(connOf("203.0.113.8:1", noon, record.ArmNone))
	flood(noon)
	flood(noon + 300)
	x.sink.err = errors.New("disk full")
	x.settle(noon + 600)
	if err := os.Remove(x.path); err != nil {
		t.Fatal(err)
	}
	x.read()
	x.sink.err = nil
	x.settle(noon + 900)
	want := []string{"access-log-lines", "access-log-match: most responses of the access log match no measured connection: no-connection",
		"goodput: goodput of window not stored: disk full", "access-log: access log", "goodput: "}
	if len(x.alarms) != len(want) {
		t.Fatalf("%q", x.alarms)
	}
	for i, w := range want {
		if !strings.HasPrefix(x.alarms[i], w) {
			t.Errorf("alarm %d: %q, want %q", i, x.alarms[i], w)
		}
	}
}

// Without a log the kernel's side is counted all the same.
func TestWithoutLog(t *testing.T) {
	sink := &fakeSink{}
	m := New(Options{Window: 5 * time.Minute, Block: 30 * time.Minute, Washout: 5 * time.Minute, MinBytes: 100_000}, sink, network.Tenants(nil), nil,
		slog.New(slog.DiscardHandler))
	m.Record(connOf("203.0.113.7:4000", noon+300, record.ArmNone))
	m.settle(noon + 300)
	if len(sink.batches) != 1 || len(sink.batches[0].Rows) != 1 || sink.batches[0].Rows[0].Kind != goodput.Acked {
		t.Errorf("%+v", sink.batches)
	}
}
