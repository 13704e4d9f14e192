package inbox

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

const (
	w   = 300
	now = 1_000_000 * w // Unix seconds, where a window begins
)

func check(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func options(dir string) Options {
	return Options{Dir: dir, PoP: "chi", WindowSeconds: w, MaxBytes: 1 << 20}
}

func open(t interface{ Fatal(...any) }, dir string, closed int64) *Inbox {
	in, err := Open(options(dir), closed)
	check(t, err)
	return in
}

// frame codes a batch with one record for each window, whose cookie tells its place.
func frame(h wire.Header, windows ...int64) []byte {
	var b wire.Batch
	for i, start := range windows {
		p, _ := record.PrefixOf(netip.MustParseAddr("203.0.113.1"))
		if err := b.Add(&record.Conn{Netns: 1, Cookie: record.Cookie(1000*h.Sequence + uint64(i)), Window: start, AtNs: 1, Prefix: p}); err != nil {
			panic(err)
		}
	}
	h.PoP = cmp.Or(h.PoP, "chi")
	out, err := b.AppendFrame(nil, &h)
	if err != nil {
		panic(err)
	}
	return out
}

func boot(host string) record.BootID { return record.BootID{host[len(host)-1]} }

func read(t interface{ Fatal(...any) }, in *Inbox, start int64) (got []string) {
	check(t, in.Conns(start, func(host string, c *record.Conn) { got = append(got, fmt.Sprintf("%s %d", host, c.Cookie)) }))
	return got
}

// TestInbox: whatever the order in which batches come, however often, and with restarts and torn
// writes in between, each window holds each record once and in one order.
func TestInbox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "inbox")
		check(t, err)
		defer os.RemoveAll(dir)
		in := open(t, dir, 0)
		defer func() { check(t, in.Shut()) }()
		type sent struct {
			host  string
			bytes []byte
		}
		var all []sent
		want := map[int64]map[string]bool{}
		for range rapid.IntRange(1, 20).Draw(t, "batches") {
			host := rapid.SampledFrom([]string{"edge-1", "edge-2"}).Draw(t, "host")
			h := wire.Header{Host: host, Boot: boot(host), Sequence: uint64(len(all) + 1)}
			windows := rapid.SliceOfN(rapid.SampledFrom([]int64{now, now + w}), 0, 3).Draw(t, "windows")
			all = append(all, sent{host, frame(h, windows...)})
			for i, start := range windows {
				if want[start] == nil {
					want[start] = map[string]bool{}
				}
				want[start][fmt.Sprintf("%s %d", host, 1000*h.Sequence+uint64(i))] = true
			}
		}
		for _, i := range rapid.Permutation(order(len(all))).Draw(t, "order") {
			check(t, in.Take(all[i].host, all[i].bytes, now))
			switch rapid.SampledFrom([]string{"", "", "twice", "restart", "torn"}).Draw(t, "then") {
			case "twice":
				check(t, in.Take(all[i].host, all[i].bytes, now))
			case "restart":
				check(t, in.Shut())
				in = open(t, dir, 0)
			case "torn":
				check(t, in.Shut())
				tear(t, dir, all[i].bytes, rapid.IntRange(1, len(all[i].bytes)-1).Draw(t, "bytes"))
				in = open(t, dir, 0)
				check(t, in.Take(all[i].host, all[i].bytes, now))
			}
		}
		for start, records := range want {
			got := read(t, in, start)
			if len(got) != len(records) || slices.ContainsFunc(got, func(r string) bool { return !records[r] }) {
				t.Fatalf("window %d: %q, want %v", start, got, records)
			}
			if !slices.IsSorted(got) && len(all) < 9 { // by boot, which is the host here, and sequence
				t.Fatalf("window %d: out of order: %q", start, got)
			}
		}
	})
}

func order(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// tear cuts n bytes off each file that ends with a frame.
func tear(t interface{ Fatal(...any) }, dir string, frame []byte, n int) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	check(t, err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		check(t, err)
		if bytes.HasSuffix(b, frame) {
			check(t, os.WriteFile(f, b[:len(b)-n], 0o600))
		}
	}
}

// TestRefused: what a host must not send, and what it must send again.
func TestRefused(t *testing.T) {
	in := open(t, t.TempDir(), now-w)
	defer func() { check(t, in.Shut()) }()
	good := wire.Header{Host: "edge-1", Boot: boot("edge-1"), Sequence: 1}
	with := func(edit func(*wire.Header)) wire.Header { h := good; edit(&h); return h }
	for name, c := range map[string]struct {
		frames []byte
		want   string
	}{
		"another host":   {frame(with(func(h *wire.Header) { h.Host = "edge-2" }), now), `batch of host "edge-2", sent with the certificate of "edge-1"`},
		"another pop":    {frame(with(func(h *wire.Header) { h.PoP = "ams" }), now), `batch of pop "ams", sent with a certificate of "chi"`},
		"no boot":        {frame(with(func(h *wire.Header) { h.Boot = record.BootID{} }), now), "without a boot id"},
		"no sequence":    {frame(with(func(h *wire.Header) { h.Sequence = 0 }), now), "without a boot id and a sequence"},
		"other windows":  {frame(good, now+60), "windows are 300 s here"},
		"a clock ahead":  {frame(good, now+5*w), "the host's clock is ahead"},
		"window 0":       {frame(good, 0), "window 0"},
		"no batch":       {[]byte("\x05hello"), "damaged"},
		"cut":            {frame(good, now)[:20], "no batch"},
		"a huge length":  {[]byte("\xff\xff\xff\xff\x7f"), "no length of a batch"},
		"nothing behind": {[]byte{0}, "no batch"},
	} {
		err := in.Take("edge-1", c.frames, now)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if in.Oldest() != 0 {
		t.Errorf("something was kept of window %d", in.Oldest())
	}
	check(t, in.Take("edge-1", frame(good, now-w, now), now))
	if c := in.Counts(); c.Late != 1 || len(read(t, in, now)) != 1 {
		t.Errorf("a batch of a closed window and an open one: %+v", c)
	}
	in.opt.MaxBytes = in.bytes + 10
	if err := in.Take("edge-1", frame(with(func(h *wire.Header) { h.Sequence = 2 }), now), now); !errors.Is(err, ErrFull) || errors.Is(err, ErrRefused) {
		t.Errorf("a full inbox: %v", err)
	}
}

// TestOneHostLeavesRoom: a host takes half of the inbox at most, also over a restart, and its boot ids and sequences
// double nobody else's batches.
func TestOneHostLeavesRoom(t *testing.T) {
	dir := t.TempDir()
	in := open(t, dir, 0)
	in.opt.MaxBytes = 4000
	var err error
	n := uint64(0)
	for err == nil && n < 1000 {
		n++
		err = in.Take("edge-1", frame(wire.Header{Host: "edge-1", Boot: boot("edge-2"), Sequence: n}, now, now+w), now)
	}
	if !errors.Is(err, ErrFull) || errors.Is(err, ErrRefused) || in.bytes > 2200 || in.bytes < 1500 {
		t.Fatalf("after %d batches, %d bytes: %v", n, in.bytes, err)
	}
	check(t, in.Shut())
	in = open(t, dir, 0)
	defer func() { check(t, in.Shut()) }()
	in.opt.MaxBytes = 4000
	again := wire.Header{Host: "edge-1", Boot: boot("edge-2"), Sequence: n}
	if err := in.Take("edge-1", frame(again, now, now+w), now); !errors.Is(err, ErrFull) {
		t.Errorf("after a restart: %v", err)
	}
	check(t, in.Take("edge-2", frame(wire.Header{Host: "edge-2", Boot: boot("edge-2"), Sequence: 1}, now), now))
	if got := read(t, in, now); !slices.Contains(got, "edge-2 1000") {
		t.Errorf("the other host's batch, of the same boot id and sequence, is not there: %q", got)
	}
	check(t, in.Close(now+w))
	if len(in.of) != 0 || in.bytes != 0 {
		t.Errorf("an empty inbox: %v, %d bytes", in.of, in.bytes)
	}
}

// TestManyBatches: the names of a host's batches take a bounded part of the memory, and leave those of others alone.
func TestManyBatches(t *testing.T) {
	in := open(t, t.TempDir(), 0)
	in.opt.MaxBytes = 1 << 30
	defer func() { check(t, in.Shut()) }()
	h := wire.Header{Host: "edge-1", Boot: boot("edge-1"), Ends: []wire.WindowEnd{{Start: now}}}
	var err error
	for n := 0; err == nil && n < 2*maxNames; n += maxBatches {
		var push []byte
		for range maxBatches {
			h.Sequence++
			push = append(push, frame(h)...)
		}
		err = in.Take("edge-1", push, now)
	}
	if !errors.Is(err, ErrFull) || errors.Is(err, ErrRefused) || len(in.panes[now].seen) != maxNames {
		t.Errorf("%d names, %v", len(in.panes[now].seen), err)
	}
	check(t, in.Take("edge-2", frame(wire.Header{Host: "edge-2", Boot: boot("edge-2"), Sequence: 1}, now), now))
}

// TestPast: windows of long ago open no files.
func TestPast(t *testing.T) {
	dir := t.TempDir()
	in := open(t, dir, 0)
	in.opt.MaxBytes = 1 << 30 // the batch is in the file of each of its windows
	defer func() { check(t, in.Shut()) }()
	for i := range int64(2000 / maxWindows) {
		var past []int64
		for j := range int64(maxWindows) {
			past = append(past, now-(i*maxWindows+j)*w)
		}
		check(t, in.Take("edge-1", frame(wire.Header{Host: "edge-1", Boot: boot("edge-1"), Sequence: uint64(i + 1)}, past...), now))
	}
	if len(in.panes) != maxBehind+1 || in.Counts().Late != 2000/maxWindows*maxWindows-maxBehind-1 {
		t.Errorf("%d open windows, %+v", len(in.panes), in.Counts())
	}
}

// TestClosed: ends come back after a restart, a closed window does not, and a damaged file is set aside.
func TestClosed(t *testing.T) {
	dir := t.TempDir()
	in := open(t, dir, 0)
	h := wire.Header{Host: "edge-1", Boot: boot("edge-1"), Sequence: 1, Ends: []wire.WindowEnd{{Start: now, Unknown: "why", DefaultCongs: []string{"cubic"}}}}
	check(t, in.Take("edge-1", frame(h), now+w))
	h.Sequence, h.Ends = 2, nil
	check(t, in.Take("edge-1", frame(h, now+w), now+w))
	check(t, in.Shut())
	in = open(t, dir, 0)
	if ends := in.Ends(now); len(ends) != 1 || ends[0].Host != "edge-1" || ends[0].Unknown != "why" || ends[0].DefaultCongs[0] != "cubic" {
		t.Errorf("ends after a restart: %+v", ends)
	}
	check(t, in.Close(now))
	if in.Oldest() != now+w {
		t.Errorf("oldest is %d", in.Oldest())
	}
	check(t, in.Shut())
	check(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(now+w)+suffix), []byte("\x03abcdef"), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(now)+suffix), frame(h, now), 0o600))
	in = open(t, dir, now)
	defer func() { check(t, in.Shut()) }()
	if in.Counts().Damaged != 1 || in.Oldest() != 0 {
		t.Errorf("a damaged file: %+v, oldest %d", in.Counts(), in.Oldest())
	}
}

// FuzzOpen: no file keeps an inbox from opening.
func FuzzOpen(f *testing.F) {
	f.Add(frame(wire.Header{Host: "edge-1", Boot: boot("edge-1"), Sequence: 1}, now))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		check(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(now)+suffix), b, 0o600))
		in := open(t, dir, 0)
		_ = read0(in)
		check(t, in.Shut())
	})
}

// read0 may find records that are none: a header that is right says nothing of them.
func read0(in *Inbox) error { return in.Conns(now, func(string, *record.Conn) {}) }
