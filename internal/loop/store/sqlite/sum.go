package sqlite

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"sync"
)

// SQLite checks the structure of its pages, not their content: a flipped bit in
// a stored number reads back as another number. So each row carries the CRC-32C
// (Castagnoli, RFC 3720 appendix B.4) of its other columns, in column order:
//
//	integer  'i', 8 bytes little-endian
//	real     'r', the 8 bytes of its IEEE 754 bits, little-endian; -0 as +0, which SQLite cannot tell apart
//	text     't', its length in 8 bytes little-endian, its bytes
//	blob     'b', the same
//	null     'n' (never written; a damaged row may read so)
//
// preceded by the table's name as a text, so that a row cannot pass for one of
// another table. It finds accidents, not forgers: a plan is signed for that.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(table string, columns []any) int64 {
	buf := sumRoom.Get().(*[]byte)
	defer sumRoom.Put(buf)
	b := appendBytes((*buf)[:0], 't', table)
	for _, c := range columns {
		switch v := c.(type) {
		case int64:
			b = binary.LittleEndian.AppendUint64(append(b, 'i'), uint64(v))
		case float64:
			b = appendReal(b, v)
		case string:
			b = appendBytes(b, 't', v)
		case []byte:
			b = appendBytes(b, 'b', v)
		default:
			b = append(b, 'n')
		}
	}
	*buf = b
	return int64(crc32.Checksum(b, castagnoli))
}

// sumRoom: of 384 bytes a row of windows needs 330.
var sumRoom = sync.Pool{New: func() any { b := make([]byte, 0, 384); return &b }}

func appendReal(b []byte, v float64) []byte {
	if v == 0 {
		v = 0
	}
	return binary.LittleEndian.AppendUint64(append(b, 'r'), math.Float64bits(v))
}

func appendBytes[T string | []byte](b []byte, tag byte, s T) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, tag), uint64(len(s)))
	return append(b, s...)
}

// checkSum compares a row as read, whose last column is its sum.
func checkSum(table string, row []any) error {
	last := len(row) - 1
	if want, ok := row[last].(int64); ok && sumOf(table, row[:last]) == want {
		return nil
	}
	return fmt.Errorf("read %s row with key %v: %w: checksum differs; %s", table, row[0], ErrDamaged, damagedHint)
}
