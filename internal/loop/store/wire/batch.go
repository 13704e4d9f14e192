package wire

import (
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
	Sequence       uint64 // 1, 2, 3 … since the sender's start
	CongctlVersion string
}

// batch returns a message Batch without records.
func (h *Header) batch() *congctlv1.Batch {
	b := &congctlv1.Batch{Host: valid(h.Host), Pop: valid(h.PoP), Sequence: h.Sequence, CongctlVersion: valid(h.CongctlVersion)}
	if h.Boot != (record.BootID{}) {
		b.BootId = h.Boot[:]
	}
	return b
}

// numConns is the number of the field Batch.conns.
const numConns = 6

// known skips the fields of a newer writer.
var known = proto.UnmarshalOptions{DiscardUnknown: true}

// DecodeBatch reads one message Batch: its header, then row for each record. It reuses the
// Conn for the next one. Anything but a batch is [ErrDamaged]; it returns errors of row
// unchanged.
//
// It hands the library the records one by one: of a whole batch a damaged length could
// make thirty million.
func DecodeBatch(b []byte, row func(*Header, *record.Conn) error) error {
	var head []byte
	for rest := b; len(rest) > 0; {
		num, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			return fmt.Errorf("decode batch: %w: %w", ErrDamaged, protowire.ParseError(n))
		}
		if num != numConns {
			head = append(head, rest[:n]...)
		}
		rest = rest[n:]
	}
	h, err := headerOf(head)
	if err != nil {
		return fmt.Errorf("decode batch: %w: %w", ErrDamaged, err)
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
	return h, nil
}

// ErrDamaged is a batch or a records file that cannot be what a writer wrote.
var ErrDamaged = errors.New("records damaged")
