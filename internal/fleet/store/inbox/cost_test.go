package inbox

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/loop/store/wire/wiretest"
	"github.com/congctl/congctl/internal/tcp/record"
)

// hostilePushes are of host edge-1, at now: single batches, and pushes of many.
func hostilePushes() []wiretest.Input {
	h := wire.Header{Host: "edge-1", PoP: "chi", Boot: boot("edge-1"), Sequence: 1}
	var list []wiretest.Input
	for _, in := range wiretest.Hostile(h, now, w) {
		in.Body = in.Frame()
		list = append(list, in)
	}
	var good, small []byte
	for i := range uint64(maxBatches + 1) {
		h.Sequence = i + 1
		good = append(good, frame(h, now)...)
	}
	for len(small) < 2<<20 {
		h.Sequence++
		small = append(small, frame(h)...)
	}
	var windows, ahead []int64
	for i := range int64(maxWindows + 1) {
		windows, ahead = append(windows, now-i*w), append(ahead, now+i*w)
	}
	push := func(name string, b []byte) {
		list = append(list, wiretest.Input{Name: name, Body: b, Fault: wiretest.InWindow})
	}
	push("more batches than a push has", good)
	push("60,000 batches of nothing", small)
	push("a batch of more windows than one has", frame(h, windows...))
	push("records of next hour", frame(h, ahead...))
	push("batches that end within one", good[:len(good)-1])
	push("2 MiB of another host's", bytes.Repeat(frame(wire.Header{Host: strings.Repeat("h", 253), Boot: boot("edge-1"), Sequence: 1}, now), 5000))
	return list
}

// TestCostOfPushes: whatever an agent pushes, refusing or taking it costs little, and what is said of it is short.
func TestCostOfPushes(t *testing.T) {
	in := open(t, t.TempDir(), 0)
	in.opt.MaxBytes = 1 << 30
	defer func() { check(t, in.Shut()) }()
	wiretest.Door(t, hostilePushes(), wiretest.InWindow, func(i wiretest.Input) error {
		err := in.Take("edge-1", i.Body, now)
		if err == nil {
			return nil
		}
		if text := err.Error(); !errors.Is(err, ErrRefused) || len(text) > foreign.MaxText+len(ErrRefused.Error())+2 || foreign.Cut(text, len(text)) != text {
			t.Errorf("%s: %q", i.Name, text)
		}
		return err
	})
	if n := len(in.panes); n > maxAhead+1 {
		t.Errorf("%d windows are open", n)
	}
	check(t, in.Conns(now, func(string, *record.Conn) {}))
}

// TestRefusedWithoutTheLock: nobody waits for a push that is refused, and it waits for none.
func TestRefusedWithoutTheLock(t *testing.T) {
	in := open(t, t.TempDir(), 0)
	defer func() { check(t, in.Shut()) }()
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, i := range hostilePushes() {
		if i.Fault == wiretest.None || strings.Contains(i.Name, "batches") { // some of these are taken
			continue
		}
		if err := in.Take("edge-1", i.Body, now); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", i.Name, err)
		}
	}
}

// TestFirstFault: of many wrong windows, one is named; batches before it are kept.
func TestFirstFault(t *testing.T) {
	in := open(t, t.TempDir(), 0)
	defer func() { check(t, in.Shut()) }()
	h := wire.Header{Host: "edge-1", Boot: boot("edge-1"), Sequence: 1}
	bad := h
	bad.Sequence = 2
	err := in.Take("edge-1", append(frame(h, now), frame(bad, now+1, now+2, now+3)...), now)
	if want := fmt.Sprintf("window %d: windows are 300 s here", now+1); !errors.Is(err, ErrRefused) || strings.Count(err.Error(), "window ") != 1 || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q once", err, want)
	}
	if got := read(t, in, now); len(got) != 1 {
		t.Errorf("kept %q", got)
	}
}
