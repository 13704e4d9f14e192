// Package wiretest makes up batches that no agent of congctl would send, and measures what taking or refusing one costs.
//
// It is for tests alone, of every door through which batches come: files, pushes, a broker.
//
// Its trap: a cost has that of whatever else the process does meanwhile, so a test that measures runs nothing beside.
package wiretest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Input is a batch without its length.
type Input struct {
	Name  string
	Body  []byte
	Fault Fault
}

// Fault is where a batch is wrong, in the order in which a reader finds it.
type Fault int

// None may be taken. InHeader is seen without a look into the records; InWindow by a reader that knows which windows
// there are.
const (
	None Fault = iota
	InHeader
	InRecord
	InWindow
)

// Frame returns the batch behind its length.
func (i Input) Frame() []byte {
	return append(binary.AppendUvarint(nil, uint64(len(i.Body))), i.Body...)
}

const size = 2<<20 - 1<<10 // a push has at most 2 MiB

// Hostile returns batches with a right header, of records of a window of so many seconds.
func Hostile(h wire.Header, window, seconds int64) []Input {
	head := batch(h)
	with := func(parts ...[]byte) []byte { return append(bytes.Clone(head), bytes.Join(parts, nil)...) }
	fill := func(part []byte) []byte { return with(bytes.Repeat(part, (size-len(head))/len(part))) }
	cong := func(i int) string { return fmt.Sprintf("c%d", i) }
	conn := func(edit func(*record.Conn)) record.Conn {
		c := record.Conn{Netns: 1, Cookie: 1, Window: window, AtNs: window * 1e9, Prefix: 0xcb007100 | 24, ClientFacing: true, Passive: true, Cong: "cubic"}
		edit(&c)
		return c
	}
	var others, congs []record.Conn
	for i := range 1000 {
		others = append(others, conn(func(c *record.Conn) { c.Window += int64(i+1) * seconds * 1000 }))
		congs = append(congs, conn(func(c *record.Conn) { c.Cong = cong(i) }))
	}
	long := strings.Repeat("\x1b[2J\u202e", 60_000/7)
	return []Input{
		{"131,067 records of 6 bytes", with(bytes.Repeat(field(6, varint(3, uint64(window))[:6]), 131_067)), InHeader},
		{"records of no byte", fill(field(6, nil)), InHeader},
		{"a thousand records of no byte, in a batch", with(bytes.Repeat(field(6, nil), 1000)), InHeader},
		{"a record more than a batch has", with(bytes.Repeat(elements(others[:1]), 1001)), InHeader},
		{"350,000 wrong ends of windows", ends(head, size, window+1), InHeader},
		{"13,124 wrong ends of windows", ends(head, 64<<10, window+1), InHeader},
		{"13,124 ends of windows of next year", ends(head, 64<<10, window+366*86400), InHeader},
		{"60 wrong ends of windows", ends(head, len(head)+60*8, window+1), InWindow},
		{"ends of windows of no byte", fill(field(7, nil)), InHeader},
		{"1,000 records, each of another wrong window", batch(h, others...), InWindow},
		{"1,000 records, each with a cong of its own", batch(h, congs...), None},
		{"a cong of 1 MiB", with(field(6, field(13, bytes.Repeat([]byte("\x1b"), 1<<20)))), InRecord},
		{"congs of 16 bytes", with(bytes.Repeat(field(6, append(varint(3, uint64(window)), field(13, []byte("0123456789abcdef"))...)), 900)), InRecord},
		{"a host of 261,000 control characters", with(field(2, bytes.Repeat([]byte{1}, 261_000))), InHeader},
		{"a pop that turns the writing", with(field(3, []byte("chi\u202e"))), InHeader},
		{"a boot id of 1 MiB", with(field(1, make([]byte, 1<<20))), InHeader},
		{"reasons of 60 kB", with(field(7, append(varint(1, uint64(window)), append(field(2, []byte(long)), field(3, []byte(long))...)...))), None},
		{"a version of 60 kB", with(field(5, []byte(long))), None},
		{"default_congs without a name", with(field(7, bytes.Repeat(field(4, nil), size/2))), InHeader},
		{"100,000 default_congs", with(field(7, many(100_000, func(i int) []byte { return field(4, []byte(cong(i))) }))), InHeader},
		{"the sequence, again and again", fill(varint(4, 7)), InHeader},
		{"the version, again and again", fill(field(5, []byte("v"))), InHeader},
		{"default_congs of 30,000 namespaces", with(field(7, append(varint(1, uint64(window)), bytes.Repeat(field(4, []byte("cubic")), 30_000)...))), None},
		{"fields of a newer sender", fill(varint(500, 1)), InHeader},
		{"groups in groups", with(bytes.Repeat(protowire.AppendTag(nil, 500, protowire.StartGroupType), size/2)), InHeader},
		{"a field that is longer than the batch", with(protowire.AppendVarint(protowire.AppendTag(nil, 6, protowire.BytesType), 1<<40)), InHeader},
		{"zeros", with(make([]byte, size)), InHeader},
	}
}

// batch codes one of any size.
func batch(h wire.Header, conns ...record.Conn) []byte {
	frame, err := new(wire.Batch).AppendFrame(nil, &h)
	if err != nil {
		panic(err)
	}
	_, n := binary.Uvarint(frame)
	return append(frame[n:], elements(conns)...)
}

// elements are records as a batch has them.
func elements(conns []record.Conn) (out []byte) {
	for i := range conns {
		var b wire.Batch
		if err := b.Add(&conns[i]); err != nil {
			panic(err)
		}
		frame, err := b.AppendFrame(nil, &wire.Header{})
		if err != nil {
			panic(err)
		}
		_, n := binary.Uvarint(frame)
		out = append(out, frame[n:]...)
	}
	return out
}

// ends are so many bytes of ends, each of another window from start on.
func ends(head []byte, size int, start int64) []byte {
	b := bytes.Clone(head)
	for i := int64(0); len(b) < size; i++ {
		b = append(b, field(7, varint(1, uint64(start+i)))...)
	}
	return b
}

func many(n int, each func(int) []byte) (out []byte) {
	for i := range n {
		out = append(out, each(i)...)
	}
	return out
}

func field(num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), v)
}

func varint(num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
}
