package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/congctl/congctl/internal/loop/store/wire/congctlv1"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Header is a batch's description of its sender.
type Header struct {
	Boot           record.BootID
	Host, PoP      string
	Sequence       uint64 // rises by 1 from batch to batch; with Boot it names the batch for ever
	CongctlVersion string
	Ends           []WindowEnd
}

// WindowEnd says that the sender has sent all that it saw of a window: this batch and those before it hold it.
type WindowEnd struct {
	Start        int64    // of the window, Unix seconds
	Unknown      string   // why the window cannot be trusted; "" if it can
	Starved      string   // why no new treatment may begin; "" if it may
	DefaultCongs []string // the default of each polled namespace
}

// batch returns a message Batch without records.
func (h *Header) batch() *congctlv1.Batch {
	b := &congctlv1.Batch{Host: valid(h.Host), Pop: valid(h.PoP), Sequence: h.Sequence, CongctlVersion: valid(h.CongctlVersion)}
	if h.Boot != (record.BootID{}) {
		b.BootId = h.Boot[:]
	}
	for _, e := range h.Ends {
		m := &congctlv1.WindowEnd{Start: e.Start, Unknown: valid(e.Unknown), Starved: valid(e.Starved)}
		for _, c := range e.DefaultCongs {
			m.DefaultCongs = append(m.DefaultCongs, valid(c))
		}
		b.WindowEnds = append(b.WindowEnds, m)
	}
	return b
}

const (
	// numConns is the number of the field Batch.conns.
	numConns = 6
	// maxHeadBytes bounds a batch without its records: the ends of windows of a host with 30,000 namespaces. The library
	// makes 100 bytes of two, so that 64 MiB of empty window ends would take 3 GiB.
	maxHeadBytes = 256 << 10
)

// Batch gathers records for one message Batch, coded as they come. The zero value is empty. Not for concurrent use.
type Batch struct {
	next  message
	conns []byte // encoded elements of Batch.conns
	count int
}

// Add codes c. The caller may reuse c at once. The error is always nil: a coder of another form may have one.
func (b *Batch) Add(c *record.Conn) error {
	b.conns = b.next.append(b.conns, c)
	b.count++
	return nil
}

// Len returns how many records it holds, and their bytes.
func (b *Batch) Len() (conns, bytes int) { return b.count, len(b.conns) }

// AppendFrame appends the batch behind its length as a varint, as a file, a push or a message of Kafka carries it, and
// empties b. It refuses a header above 256 KiB, and then b keeps its records.
func (b *Batch) AppendFrame(dst []byte, h *Header) ([]byte, error) {
	head, err := proto.Marshal(h.batch())
	if err == nil && len(head) > maxHeadBytes {
		err = fmt.Errorf("a header of %d bytes, most of it %d ends of windows; at most %d", len(head), len(h.Ends), maxHeadBytes)
	}
	if err != nil {
		return dst, fmt.Errorf("encode batch %d: %w", h.Sequence, err)
	}
	dst = binary.AppendUvarint(dst, uint64(len(head)+len(b.conns)))
	dst = append(append(dst, head...), b.conns...)
	b.conns, b.count = b.conns[:0], 0
	return dst, nil
}

// known skips the fields of a newer writer.
var known = proto.UnmarshalOptions{DiscardUnknown: true}

// DecodeBatch reads one message Batch: its header, then row for each record. It reuses the
// Conn for the next one. Anything but a batch is [ErrDamaged]; it returns errors of row
// unchanged.
//
// It hands the library the records one by one: of a whole batch a damaged length could
// make thirty million.
func DecodeBatch(b []byte, row func(*Header, *record.Conn) error) error {
	h, err := DecodeHeader(b)
	if err != nil {
		return err
	}
	var c record.Conn
	for rest := b; len(rest) > 0; {
		num, wire, tag := protowire.ConsumeTag(rest) // whole, as the first loop has seen
		value := rest[tag:]
		if num == numConns && wire == protowire.BytesType {
			raw, _ := protowire.ConsumeBytes(value)
			if err := Decode(raw, &c); err != nil {
				return fmt.Errorf("decode batch %d of %s: %w: %w", h.Sequence, h.Host, ErrDamaged, err)
			}
			if err := row(&h, &c); err != nil {
				return err
			}
		}
		rest = value[protowire.ConsumeFieldValue(num, wire, value):]
	}
	return nil
}

// DecodeHeader reads a message Batch without its records, which may be none: a batch can hold ends of windows alone. It
// looks at the frames of the records, not into them. Anything else is [ErrDamaged].
func DecodeHeader(b []byte) (Header, error) {
	var head []byte
	for rest := b; len(rest) > 0; {
		num, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			return Header{}, fmt.Errorf("decode batch: %w: %w", ErrDamaged, protowire.ParseError(n))
		}
		if num != numConns {
			head = append(head, rest[:n]...)
		}
		rest = rest[n:]
	}
	if len(head) > maxHeadBytes {
		return Header{}, fmt.Errorf("decode batch: %w: a header of %d bytes; at most %d", ErrDamaged, len(head), maxHeadBytes)
	}
	h, err := headerOf(head)
	if err != nil {
		return Header{}, fmt.Errorf("decode batch: %w: %w", ErrDamaged, err)
	}
	return h, nil
}

func headerOf(b []byte) (h Header, err error) {
	var m congctlv1.Batch
	if err := known.Unmarshal(b, &m); err != nil {
		return h, err
	}
	if n := len(m.BootId); n > 0 && n != len(h.Boot) {
		return h, fmt.Errorf("field boot_id: %d bytes, want %d", n, len(h.Boot))
	}
	copy(h.Boot[:], m.BootId)
	h.Host, h.PoP, h.Sequence, h.CongctlVersion = m.Host, m.Pop, m.Sequence, m.CongctlVersion
	for _, e := range m.WindowEnds {
		h.Ends = append(h.Ends, WindowEnd{e.Start, e.Unknown, e.Starved, e.DefaultCongs})
	}
	return h, nil
}

// ErrDamaged is a batch or a records file that cannot be what a writer wrote.
var ErrDamaged = errors.New("records damaged")
