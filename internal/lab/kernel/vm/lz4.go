package vm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// LZ4 in its "legacy" frame, as kernels are packed: a magic number, then blocks, each a
// length and a sequence of (literals, copy of earlier bytes) pairs. A pair starts with
// a token: high four bits the number of literals, low four bits the length of the copy
// less four; 15 means that further bytes, up to one that is not 255, are added. A copy
// reaches back at most 64 KB, within its block of 8 MB. (lz4_Block_format.md and
// lz4_Frame_format.md of the LZ4 project.)

var lz4Magic = []byte{0x02, 0x21, 0x4c, 0x18}

const lz4Block = 8 << 20

var errLZ4 = errors.New("unpack lz4: broken block")

// unLZ4 unpacks a frame of at most size bytes.
func unLZ4(frame []byte, size int) (out []byte, err error) {
	frame = frame[len(lz4Magic):]
	out = make([]byte, 0, min(size, 16*len(frame)))
	for len(frame) >= 4 {
		n := binary.LittleEndian.Uint32(frame)
		frame = frame[4:]
		if uint64(n) > uint64(len(frame)) {
			return nil, fmt.Errorf("unpack lz4: block of %d bytes, %d are left", n, len(frame))
		}
		start := len(out)
		if out, err = lz4Unblock(out, frame[:n], start+lz4Block); err != nil {
			return nil, err
		}
		if len(out) > size {
			return nil, fmt.Errorf("unpack lz4: more than %d bytes", size)
		}
		frame = frame[n:]
	}
	return out, nil
}

// lz4Unblock appends one block, up to a length of limit.
func lz4Unblock(out, in []byte, limit int) ([]byte, error) {
	start := len(out)
	for len(in) > 0 {
		token := in[0]
		literals, rest, ok := lz4Length(int(token>>4), in[1:])
		if !ok || literals > len(rest) || len(out)+literals > limit {
			return nil, errLZ4
		}
		out, in = append(out, rest[:literals]...), rest[literals:]
		if len(in) == 0 {
			return out, nil // the last pair has no copy
		}
		if len(in) < 2 {
			return nil, errLZ4
		}
		back := int(binary.LittleEndian.Uint16(in))
		length, rest, ok := lz4Length(int(token&15), in[2:])
		length += 4
		if !ok || back == 0 || back > len(out)-start || len(out)+length > limit {
			return nil, errLZ4
		}
		out, in = copyBack(out, back, length), rest
	}
	return nil, errLZ4
}

func lz4Length(n int, in []byte) (length int, rest []byte, ok bool) {
	if n < 15 {
		return n, in, true
	}
	for i, b := range in {
		n += int(b)
		if b != 255 {
			return n, in[i+1:], true
		}
	}
	return 0, nil, false
}

// copyBack appends length bytes from back bytes ago; the copy may reach into itself,
// and then repeats.
func copyBack(out []byte, back, length int) []byte {
	for length > 0 {
		n := min(length, back)
		out = append(out, out[len(out)-back:len(out)-back+n]...)
		length -= n
	}
	return out
}
