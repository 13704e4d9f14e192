package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// The idea: a pair says where its struct has a scalar and how wide it is, so one loop over a
// message's bytes fills the struct, and one over the pairs writes it, without the library's message
// between them. The wire is the library's in all: TestDecodeEqualsProtobuf and FuzzDecode compare.

// byTag is pairs by the tag of their field: number and encoding; those between are nil.
func byTag(list []pair) []*pair {
	var table []*pair
	for i := range list {
		tag := protowire.EncodeTag(list[i].number, list[i].wire)
		table = append(table, make([]*pair, max(0, int(tag)+1-len(table)))...)
		table[tag] = &list[i]
	}
	return table
}

var connByTag, infoByTag, bbrByTag = byTag(connPairs), byTag(infoPairs), byTag(bbrPairs)

// errWire is bytes that are no message.
var errWire = errors.New("invalid wire-format data")

// scan fills a struct's scalars from its message, and calls other for the rest, by the
// tag. What the message does not have stays as it is; of a field that comes twice the last counts.
func scan(b []byte, table []*pair, to unsafe.Pointer, other func(tag, v uint64, raw []byte) error) error {
	for len(b) > 0 {
		tag, n := uint64(b[0]), 1
		switch { // most need no call
		case tag < 0x80:
		case len(b) > 1 && b[1] < 0x80:
			tag, n = tag&0x7f|uint64(b[1])<<7, 2
		default:
			tag, n = protowire.ConsumeVarint(b)
		}
		if n < 0 || tag>>3 < uint64(protowire.MinValidNumber) || tag>>3 > uint64(protowire.MaxValidNumber) {
			return errWire
		}
		b = b[n:]
		var v uint64
		var raw []byte
		switch wire := protowire.Type(tag & 7); wire {
		case protowire.VarintType:
			if len(b) > 0 && b[0] < 0x80 {
				v, n = uint64(b[0]), 1
			} else {
				v, n = protowire.ConsumeVarint(b)
			}
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			raw, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(protowire.Number(tag>>3), wire, b)
		}
		if n < 0 {
			return errWire
		}
		b = b[n:]
		var err error
		if tag < uint64(len(table)) && table[tag] != nil {
			err = table[tag].put(to, v)
		} else if other != nil {
			err = other(tag, v, raw)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// put stores a value of the wire. Protobuf cuts it to the message's type; what is then too large
// for the struct is an error, or "unknown" where an enum has such a name.
func (p *pair) put(to unsafe.Pointer, v uint64) error {
	switch p.kind {
	case reflect.Bool:
		if v != 0 {
			v = 1
		}
	case reflect.Uint32:
		v &= math.MaxUint32
	case reflect.Int32:
		switch e := int64(int32(v)); {
		case uint64(e) <= uint64(p.last):
			v = uint64(e)
		case p.lenient:
			v = uint64(p.last)
		default:
			return fmt.Errorf("field %s: value %d is above %d: written by a newer congctl, or damaged", p.name, e, p.last)
		}
	}
	if most := uint64(math.MaxUint64) >> (64 - 8*p.size); v > most {
		return fmt.Errorf("field %s: value %d is above %d: written by a newer congctl, or damaged", p.name, v, most)
	}
	switch at := unsafe.Add(to, p.at); p.size {
	case 1:
		*(*uint8)(at) = uint8(v)
	case 2:
		*(*uint16)(at) = uint16(v)
	case 4:
		*(*uint32)(at) = uint32(v)
	case 8:
		*(*uint64)(at) = v
	}
	return nil
}

// slot is what writing needs of a pair, in 6 bytes: all 111 stay in the fastest cache.
type slot struct {
	at, tag uint16
	size    uint8
	fixed   bool
}

func slotsOf(list []pair) (slots []slot) {
	for _, p := range list {
		slots = append(slots, slot{uint16(p.at), uint16(protowire.EncodeTag(p.number, p.wire)), uint8(p.size), p.wire == protowire.Fixed64Type})
	}
	return slots
}

var connSlots, infoSlots, bbrSlots = slotsOf(connPairs), slotsOf(infoPairs), slotsOf(bbrPairs)

// get is the inverse of put.
func (s slot) get(from unsafe.Pointer) uint64 {
	switch at := unsafe.Add(from, s.at); s.size {
	case 1:
		return uint64(*(*uint8)(at))
	case 2:
		return uint64(*(*uint16)(at))
	case 4:
		return uint64(*(*uint32)(at))
	default:
		return *(*uint64)(at)
	}
}

// appendScalars writes a struct's scalars. A zero is not sent.
func appendScalars(b []byte, list []slot, from unsafe.Pointer) []byte {
	for _, s := range list {
		v := s.get(from)
		switch {
		case v == 0:
		case s.fixed:
			b = binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, uint64(s.tag)), v)
		default:
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(s.tag)), v)
		}
	}
	return b
}
