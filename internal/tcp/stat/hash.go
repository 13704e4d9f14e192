package stat

import (
	"encoding/binary"
	"hash/fnv"
)

// Hash is FNV-1a, finished with MurmurHash3's mixer: FNV alone leaves the high bits of
// neighbouring numbers alike. The values with the smallest hash are a uniform sample that
// needs no random numbers.
func Hash(parts ...uint64) uint32 {
	h := fnv.New64a()
	var b [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(b[:], p)
		h.Write(b[:])
	}
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return uint32(x >> 32)
}
