package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

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
	DefaultCongs []string // of the polled namespaces, each once
}

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
// empties b. It refuses what no reader takes, more than 1,000 records or 64 ends of windows, and then b keeps its records.
func (b *Batch) AppendFrame(dst []byte, h *Header) ([]byte, error) {
	head, err := proto.Marshal(h.batch())
	if err == nil && (b.count > maxConns || len(h.Ends) > maxEnds) {
		err = fmt.Errorf("%d records, %d ends of windows; at most %d and %d", b.count, len(h.Ends), maxConns, maxEnds)
	}
	if err != nil {
		return dst, fmt.Errorf("encode batch %d: %w", h.Sequence, err)
	}
	dst = binary.AppendUvarint(dst, uint64(len(head)+len(b.conns)))
	dst = append(append(dst, head...), b.conns...)
	b.conns, b.count = b.conns[:0], 0
	return dst, nil
}

// DecodeBatch reads one message Batch: its header, then row for each record. It reuses the
// Conn for the next one. Anything but a batch is [ErrDamaged]; it returns errors of row
// unchanged.
func DecodeBatch(b []byte, row func(*Header, *record.Conn) error) error {
	h, err := DecodeHeader(b)
	if err != nil {
		return err
	}
	return h.Conns(b, func(c *record.Conn) error { return row(&h, c) })
}

// Conns calls row for each record of the message Batch whose header h is, as [DecodeBatch] does.
func (h *Header) Conns(b []byte, row func(*record.Conn) error) error {
	var c record.Conn
	return scan(b, nil, nil, func(tag, _ uint64, raw []byte) error {
		if tag != numConns<<3|isBytes {
			return nil
		}
		if err := Decode(raw, &c); err != nil {
			return fmt.Errorf("decode batch %d of %s: %w: %w", h.Sequence, h.Host, ErrDamaged, err)
		}
		return row(&c)
	})
}

// DecodeHeader reads a message Batch without its records, which may be none: a batch can hold ends of windows alone. It
// looks at the frames of the records, not into them. Of a text, which a person reads, it keeps 300 bytes that can be
// printed; a name is whole. Anything else is [ErrDamaged].
func DecodeHeader(b []byte) (h Header, err error) {
	if _, err := h.decode(b); err != nil {
		return Header{}, fmt.Errorf("decode batch: %w: %w", ErrDamaged, err)
	}
	return h, nil
}

// ErrDamaged is a batch or a records file that cannot be what a writer wrote.
var ErrDamaged = errors.New("records damaged")
