package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/congctl/congctl/internal/core/record"
)

// Numbers of the fields of message Batch.
const (
	numBootID   = 1
	numHost     = 2
	numPoP      = 3
	numSequence = 4
	numVersion  = 5
	numConns    = 6
)

// Header is what a batch says of its sender.
type Header struct {
	Boot           record.BootID
	Host, PoP      string
	Sequence       uint64 // 1, 2, 3 … since the sender's start
	CongctlVersion string
}

func appendHeader(b []byte, h *Header) []byte {
	if h.Boot != (record.BootID{}) {
		b = protowire.AppendTag(b, numBootID, protowire.BytesType)
		b = protowire.AppendBytes(b, h.Boot[:])
	}
	b = appendString(b, numHost, h.Host)
	b = appendString(b, numPoP, h.PoP)
	if h.Sequence != 0 {
		b = protowire.AppendTag(b, numSequence, protowire.VarintType)
		b = protowire.AppendVarint(b, h.Sequence)
	}
	return appendString(b, numVersion, h.CongctlVersion)
}

// appendConn appends c as one element of Batch.conns. scratch holds the message
// while its length is counted.
func appendConn(b []byte, c *record.Conn, scratch *[]byte) []byte {
	*scratch = Encode((*scratch)[:0], c)
	b = protowire.AppendTag(b, numConns, protowire.BytesType)
	return protowire.AppendBytes(b, *scratch)
}

// DecodeBatch reads one message Batch: its header, then row for each record. The
// Conn is used again for the next one. What is no batch is [ErrDamaged]; errors
// of row are given back as they are.
func DecodeBatch(b []byte, row func(*Header, *record.Conn) error) error {
	var h Header
	if err := walk(b, h.field); err != nil {
		return fmt.Errorf("decode batch: %w: %w", ErrDamaged, err)
	}
	var c record.Conn
	return walk(b, func(b []byte, num protowire.Number, wire protowire.Type) (int, error) {
		if num != numConns || wire != protowire.BytesType {
			return -1, nil
		}
		raw, n := protowire.ConsumeBytes(b) // its length was checked by the first walk
		if err := Decode(raw, &c); err != nil {
			return 0, fmt.Errorf("decode batch %d of %s: %w: %w", h.Sequence, h.Host, ErrDamaged, err)
		}
		return n, row(&h, &c)
	})
}

func (h *Header) field(b []byte, num protowire.Number, wire protowire.Type) (int, error) {
	switch {
	case num == numSequence && wire == protowire.VarintType:
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return 0, protowire.ParseError(n)
		}
		h.Sequence = v
		return n, nil
	case wire != protowire.BytesType || num > numVersion:
		return -1, nil
	}
	raw, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return 0, protowire.ParseError(n)
	}
	return n, h.set(num, raw)
}

func (h *Header) set(num protowire.Number, raw []byte) error {
	switch num {
	case numBootID:
		if len(raw) != len(h.Boot) {
			return fmt.Errorf("field boot_id: %d bytes, want %d", len(raw), len(h.Boot))
		}
		copy(h.Boot[:], raw)
	case numHost:
		h.Host = string(raw)
	case numPoP:
		h.PoP = string(raw)
	case numVersion:
		h.CongctlVersion = string(raw)
	}
	return nil
}

// ErrDamaged is a batch or a records file that cannot be what a writer wrote.
var ErrDamaged = errors.New("records damaged")
