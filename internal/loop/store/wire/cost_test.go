package wire_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/loop/store/wire/wiretest"
	"github.com/congctl/congctl/internal/tcp/record"
)

var sender = wire.Header{Boot: record.BootID{1}, Host: "edge-1", PoP: "chi", Sequence: 7, CongctlVersion: "0.1.0"}

func drop(*wire.Header, *record.Conn) error { return nil }

// TestCostOfBatches: what a batch costs to be read or refused, in each of the ways in which one is read.
func TestCostOfBatches(t *testing.T) {
	inputs := wiretest.Hostile(sender, 1_767_322_800, 300)
	for _, door := range []struct {
		name  string
		finds wiretest.Fault
		do    func(wiretest.Input) error
	}{
		{"its header", wiretest.InHeader, func(in wiretest.Input) error { _, err := wire.DecodeHeader(in.Body); return err }},
		{"its number of records", wiretest.InHeader, func(in wiretest.Input) error { _, err := wire.CountConns(in.Body); return err }},
		{"all of it", wiretest.InRecord, func(in wiretest.Input) error { return wire.DecodeBatch(in.Body, drop) }},
		{"in a records file", wiretest.InRecord, func(in wiretest.Input) error { return readFile(in.Frame()) }},
	} {
		t.Run(door.name, func(t *testing.T) { wiretest.Door(t, inputs, door.finds, door.do) })
	}
}

func readFile(file []byte) error {
	_, err := wire.Read(bytes.NewReader(file), drop)
	return err
}

// TestCostOfFiles: what is wrong with a file's frames is told without their bytes, or at the price of them.
func TestCostOfFiles(t *testing.T) {
	good := wiretest.Input{Body: bytes.Repeat([]byte{0x20, 7}, 1000)}.Frame()
	length := func(n uint64) []byte { return binary.AppendUvarint(nil, n) }
	wiretest.Door(t, []wiretest.Input{
		{Name: "64 MiB of zeros", Body: append(length(64<<20), make([]byte, 64<<20)...), Fault: wiretest.InHeader},
		{Name: "4 MiB of zeros", Body: append(length(4<<20), make([]byte, 4<<20)...), Fault: wiretest.InHeader},
		{Name: "a length of 4 MiB", Body: length(4 << 20)}, // a torn tail
		{Name: "a length of 2^63", Body: append(length(1<<63), good...), Fault: wiretest.InHeader},
		{Name: "a length of eleven bytes", Body: bytes.Repeat([]byte{0xff}, 11), Fault: wiretest.InHeader},
		{Name: "4 MiB of empty batches", Body: make([]byte, 4<<20)}, // zeros behind a crash
		{Name: "an empty batch with data behind it", Body: append(make([]byte, 1<<20), good...), Fault: wiretest.InHeader},
		{Name: "a damage behind a thousand batches", Body: append(bytes.Repeat(good, 1000), 1, 0), Fault: wiretest.InHeader},
	}, wiretest.InRecord, func(in wiretest.Input) error { return readFile(in.Body) })
}

// TestCostOfSmallBatches: a file of nothing but them costs what their number does.
func TestCostOfSmallBatches(t *testing.T) {
	const n = 100_000
	for name, body := range map[string][]byte{"no record": {0x20, 7}, "a record of no byte": {0x32, 0}, "a host": {0x12, 1, 'e'}} {
		file := bytes.Repeat(wiretest.Input{Body: body}.Frame(), n)
		got := allocated(func() {
			if err := readFile(file); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		if most := uint64(besideInput + perBatch*n); got > most {
			t.Errorf("%s: %d bytes allocated for %d batches, at most %d", name, got, n, most)
		}
	}
}

// FuzzCost: whatever the bytes are, reading them allocates no more than some times their number.
func FuzzCost(f *testing.F) {
	for _, in := range wiretest.Hostile(sender, 1_767_322_800, 300) {
		f.Add(in.Body[:min(len(in.Body), 4096)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, read := range map[string]func(){
			"header": func() { _, _ = wire.DecodeHeader(b) },
			"batch":  func() { _ = wire.DecodeBatch(b, drop) },
			"file":   func() { _ = readFile(b) },
		} {
			batches := 1
			_, _ = wire.Frames(bytes.NewReader(b), func([]byte) error { batches++; return nil })
			if got, most := allocated(read), uint64(timesInput*len(b)+perBatch*batches+besideInput); got > most {
				t.Errorf("%s: %d bytes allocated for %d; at most %d", name, got, len(b), most)
			}
		}
	})
}

const (
	// timesInput: a name of a byte, sent again and again, is a field of three bytes and a string of eight; each is read
	// twice, and once more where it is refused.
	timesInput = 16
	// perBatch: a header and one record, which is used again.
	perBatch = 1 << 10
	// besideInput: the buffer of a file (64 KiB), twice for a cause that a message quotes, and 64 ends of windows.
	besideInput = 256 << 10
)

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
