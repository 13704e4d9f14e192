package vm

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"
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

func legacyLZ4(w io.Writer) io.WriteCloser {
	z := lz4.NewWriter(w)
	_ = z.Apply(lz4.LegacyOption(true))
	return z
}

func TestKernelIsUnpacked(t *testing.T) {
	text := sampleText()
	for name, newWriter := range map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"lz4":  legacyLZ4,
	} {
		var out bytes.Buffer
		w := newWriter(&out)
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		packed := out.Bytes()
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
		binary.LittleEndian.PutUint32(image[len(image)-4:], uint32(len(text)-1))
		if _, err := unpackKernel(image); err == nil {
			t.Errorf("%s: more was unpacked than the header says", name)
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
