package vm

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/pierrec/lz4/v4"
)

// A bzImage is a small program that unpacks the kernel proper. In a guest that takes
// 100 million emulated instructions at every boot. QEMU can as well boot the kernel
// proper, an ELF file, by the PVH protocol (Documentation/arch/x86/boot.rst has the
// image's header, xen/include/public/arch-x86/hvm/start_info.h the protocol).

// Offsets of the header.
const (
	setupSectsAt    = 0x1f1
	payloadAt       = 0x248
	payloadLengthAt = 0x24c
	protocolAt      = 0x206
	protocolPayload = 0x0208 // the first version with a payload's place
)

// pvhNote is XEN_ELFNOTE_PHYS32_ENTRY: where a PVH boot enters.
const pvhNote = 18

var unpacked struct {
	sync.Mutex
	sha256 string
	kernel []byte
}

// bootable returns what QEMU boots of a bzImage: the kernel inside if it can be extracted
// and boots that way, otherwise the image as it is. The last answer is kept, as one
// process boots one kernel many times.
func bootable(image []byte, sha256 string) []byte {
	unpacked.Lock()
	defer unpacked.Unlock()
	if unpacked.sha256 != sha256 {
		unpacked.sha256, unpacked.kernel = sha256, image
		if kernel, err := unpackKernel(image); err == nil && startsByPVH(kernel) {
			unpacked.kernel = kernel
		}
	}
	return unpacked.kernel
}

func unpackKernel(image []byte) ([]byte, error) {
	if len(image) < payloadLengthAt+4 || binary.LittleEndian.Uint16(image[protocolAt:]) < protocolPayload {
		return nil, fmt.Errorf("unpack kernel: no payload in the header")
	}
	start := (uint64(image[setupSectsAt])+1)*512 + uint64(binary.LittleEndian.Uint32(image[payloadAt:]))
	end := start + uint64(binary.LittleEndian.Uint32(image[payloadLengthAt:]))
	if end > uint64(len(image)) || end-start < 8 {
		return nil, fmt.Errorf("unpack kernel: payload at %d to %d of %d bytes", start, end, len(image))
	}
	// The build appends the unpacked size to the compressor's output.
	payload, size := image[start:end-4], binary.LittleEndian.Uint32(image[end-4:end])
	packed := bytes.NewReader(payload)
	var r io.Reader
	switch {
	case bytes.HasPrefix(payload, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(packed)
		if err != nil {
			return nil, fmt.Errorf("unpack kernel: %w", err)
		}
		z.Multistream(false)
		r = z
	case bytes.HasPrefix(payload, []byte{0x02, 0x21, 0x4c, 0x18}): // the "legacy" frame
		r = lz4.NewReader(packed)
	default:
		return nil, fmt.Errorf("unpack kernel: neither gzip nor lz4: starts with % x", payload[:4])
	}
	kernel, err := io.ReadAll(io.LimitReader(r, int64(size)+1))
	if err == nil && len(kernel) > int(size) {
		err = fmt.Errorf("more than the %d bytes of its header", size)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack kernel: %w", err)
	}
	return kernel, nil
}

// startsByPVH looks for the note in the kernel's ELF file.
func startsByPVH(kernel []byte) bool {
	f, err := elf.NewFile(bytes.NewReader(kernel))
	if err != nil {
		return false
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		notes, err := io.ReadAll(p.Open())
		if err == nil && hasNote(notes, "Xen\x00", pvhNote) {
			return true
		}
	}
	return false
}

// hasNote walks ELF notes: three words (length of the name, of the content, kind),
// then both, each padded to four bytes.
func hasNote(notes []byte, name string, kind uint32) bool {
	for len(notes) >= 12 {
		nameLen, contentLen := binary.LittleEndian.Uint32(notes), binary.LittleEndian.Uint32(notes[4:])
		got := binary.LittleEndian.Uint32(notes[8:])
		notes = notes[12:]
		next := padded(nameLen) + padded(contentLen)
		if next > uint64(len(notes)) {
			return false
		}
		if got == kind && string(notes[:nameLen]) == name {
			return true
		}
		notes = notes[next:]
	}
	return false
}

func padded(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }
