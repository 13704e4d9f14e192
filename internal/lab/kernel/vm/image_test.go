package vm

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// bzImage makes an image with the header that boot loaders read.
func bzImage(release string, payload []byte) []byte {
	image := make([]byte, 2*512, 2*512+len(payload))
	image[setupSectsAt] = 1
	copy(image[bootMagicAt:], "HdrS")
	binary.LittleEndian.PutUint16(image[protocolAt:], 0x020f)
	binary.LittleEndian.PutUint16(image[bootVersionAt:], 0x300-0x200)
	copy(image[0x300:], release+" (maker@host) #1 SMP\x00")
	binary.LittleEndian.PutUint32(image[payloadLengthAt:], uint32(len(payload)))
	return append(image, payload...)
}

// packLZ4 is the slow way: for each place the longest earlier match is looked for.
func packLZ4(text []byte) []byte {
	out := bytes.Clone(lz4Magic)
	for len(text) > 0 {
		n := min(len(text), lz4Block)
		block := packBlock(text[:n])
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(block))), block...)
		text = text[n:]
	}
	return out
}

func packBlock(text []byte) (out []byte) {
	literals := 0
	for i := 0; i < len(text); {
		back, length := longestMatch(text, i)
		if length < 4 || i+length == len(text) {
			i++
			literals++
			continue
		}
		out = packPair(out, text[i-literals:i], back, length)
		i, literals = i+length, 0
	}
	return packPair(out, text[len(text)-literals:], 0, 4)
}

func longestMatch(text []byte, i int) (back, length int) {
	for j := max(0, i-60); j < i; j++ {
		n := 0
		for i+n < len(text) && text[j+n] == text[i+n] {
			n++
		}
		if n > length {
			back, length = i-j, n
		}
	}
	return back, length
}

func packPair(out, literals []byte, back, length int) []byte {
	out = append(out, byte(min(len(literals), 15)<<4|min(length-4, 15)))
	out = append(packLength(out, len(literals)), literals...)
	if back == 0 {
		return out
	}
	return packLength(binary.LittleEndian.AppendUint16(out, uint16(back)), length-4)
}

func packLength(out []byte, n int) []byte {
	if n < 15 {
		return out
	}
	for n -= 15; n >= 255; n -= 255 {
		out = append(out, 255)
	}
	return append(out, byte(n))
}

func sampleText() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for len(text) < 20_000 {
		text = append(text, bytes.Repeat([]byte{byte(r.Uint32()), byte(r.Uint32())}, 1+r.IntN(400))...)
		for range r.IntN(600) {
			text = append(text, byte(r.Uint32()))
		}
	}
	return text
}

func TestKernelIsUnpacked(t *testing.T) {
	text := sampleText()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for name, packed := range map[string][]byte{"lz4": packLZ4(text), "gzip": zipped.Bytes()} {
		if len(packed) >= len(text) {
			t.Errorf("%s: %d bytes of %d: nothing was packed", name, len(packed), len(text))
		}
		image := bzImage("6.1.0", binary.LittleEndian.AppendUint32(packed, uint32(len(text))))
		if got, err := unpackKernel(image); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(text), err)
		}
		if _, err := unpackKernel(image[:len(image)-5]); err == nil {
			t.Errorf("%s: a cut image was unpacked", name)
		}
	}
	// What is not understood boots as it is.
	xz := bzImage("6.1.0", []byte("\xfd7zXZ\x00 and so on"))
	if got := bootable(xz, "xz"); !bytes.Equal(got, xz) {
		t.Error("an image that cannot be unpacked is not booted as it is")
	}
}

func TestPVHNote(t *testing.T) {
	note := func(name string, kind uint32, content string) (b []byte) {
		for _, n := range []uint32{uint32(len(name)), uint32(len(content)), kind} {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
		for _, s := range []string{name, content} {
			b = append(b, s...)
			b = append(b, make([]byte, -len(s)&3)...)
		}
		return b
	}
	linux, entry := note("Linux\x00", 18, "x"), note("Xen\x00", pvhNote, "12345678")
	if !hasNote(append(bytes.Clone(linux), entry...), "Xen\x00", pvhNote) {
		t.Error("not found behind another one")
	}
	for _, b := range [][]byte{nil, linux, entry[:len(entry)-1], note("Xen\x00", 17, "12345678")} {
		if hasNote(b, "Xen\x00", pvhNote) {
			t.Errorf("found in % x", b)
		}
	}
}

// FuzzLZ4: a broken frame is an error; a text that was packed comes back.
func FuzzLZ4(f *testing.F) {
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabcabcabcabc"))
	f.Add(packLZ4([]byte("hello hello hello hello hello"))[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := unLZ4(packLZ4(b), len(b)); err != nil || !bytes.Equal(got, b) {
			t.Errorf("% x came back as % x, %v", b, got, err)
		}
		if got, err := unLZ4(append(bytes.Clone(lz4Magic), b...), 1<<20); err != nil && got != nil || len(got) > 1<<20 {
			t.Errorf("%d bytes and %v", len(got), err)
		}
	})
}
