package link

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/loop/store/wire/wiretest"
)

// emptyMembers is gzip of nothing, again and again.
func emptyMembers(size int) (all []byte) {
	var one bytes.Buffer
	_ = gzip.NewWriter(&one).Close() // to memory
	return bytes.Repeat(one.Bytes(), size/one.Len())
}

// emptyFrames is zstd of nothing (RFC 8878, 3.1.1: a magic number, a header of two bytes, a last block without content).
func emptyFrames(size int) []byte {
	one := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0}
	return bytes.Repeat(one, size/len(one))
}

// emptyBlocks is one member of gzip with blocks of nothing, each with codes of its own (RFC 1951, 3.2.7) that are as long as they may
// be, so that a reader makes tables for them.
func emptyBlocks(size int) []byte {
	var bits bitWriter
	for len(bits.out) < size-64 {
		emptyBlock(&bits, false)
	}
	emptyBlock(&bits, true)
	head := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
	return append(append(head, bits.end()...), make([]byte, 8)...) // CRC-32 and length of nothing
}

func emptyBlock(w *bitWriter, last bool) {
	w.put(boolBit(last), 1)
	w.put(2, 2)  // dynamic codes
	w.put(0, 5)  // 257 lengths of literals and the end
	w.put(0, 5)  // 1 of a distance
	w.put(15, 4) // 19 lengths of the code of lengths, in the order 16 17 18 0 8 7 9 6 10 5 11 4 12 3 13 2 14 1 15
	for _, n := range []uint32{0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1} {
		w.put(n, 3)
	}
	// Codes: 15 is 0; 1 is 10; 18 is 11. 255 literals have no code but two, of one and of 15 bits' kin; a full set is not needed.
	w.put(3, 2)
	w.put(127, 7) // 138 zeros
	w.put(3, 2)
	w.put(107, 7) // 118 zeros: 256 in all
	w.put(1, 2)   // the end has a code of one bit (10, sent from its high bit)
	w.put(1, 2)   // and the distance
	w.put(0, 1)   // the end
}

func boolBit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// bitWriter packs from the low bit on.
type bitWriter struct {
	out []byte
	acc uint64
	n   uint
}

func (w *bitWriter) put(v uint32, n uint) {
	w.acc |= uint64(v) << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.out = append(w.out, byte(w.acc))
		w.acc >>= 8
	}
}

func (w *bitWriter) end() []byte {
	if w.n > 0 {
		w.out = append(w.out, byte(w.acc))
	}
	return w.out
}

// zeros writes a GiB of them.
func zeros(t *testing.T, w io.WriteCloser) {
	for range 1024 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCostOfBombs: a message that grows beyond the limit when it is decompressed costs no more than the limit, whether Connect has it in one
// piece or reads it as a stream.
func TestCostOfBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: it packs a GiB three times, and 32 bits encrypt it in Go; no minimum kernel")
	}
	a, c := mtlstest.New(t), &controller{}
	at, own := serve(t, a, c, a.Issue(self)), open(t, a.Issue(host))
	h := &http.Client{Transport: &http.Transport{DialTLSContext: own.Dial, ForceAttemptHTTP2: true}}
	var zip, small, large bytes.Buffer
	z, _ := zstd.NewWriter(&small, zstd.WithWindowSize(zstdWindow)) // which the decoder takes
	zeros(t, z)
	z, _ = zstd.NewWriter(&large, zstd.WithWindowSize(8*zstdWindow))
	zeros(t, z)
	zeros(t, gzip.NewWriter(&zip))
	inputs := []wiretest.Input{
		{Name: gzipName, Body: zip.Bytes()}, {Name: zstdName, Body: small.Bytes()}, {Name: zstdName, Body: large.Bytes()},
		{Name: gzipName, Body: emptyBlocks(maxPush - 1<<10)}, {Name: gzipName, Body: emptyMembers(maxPush - 1<<10)}, {Name: zstdName, Body: emptyFrames(maxPush - 1<<10)},
	}
	for i := range inputs {
		inputs[i].Fault = wiretest.InHeader
	}
	wiretest.Door(t, inputs, wiretest.InHeader, func(in wiretest.Input) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/congctl.v1.Fleet/Push", bytes.NewReader(in.Body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/proto")
		req.Header.Set("Content-Encoding", in.Name)
		res, err := h.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if n, _ := c.pushed(); res.StatusCode == http.StatusOK || n != 0 {
			t.Errorf("%s of %d bytes: %s, %d pushed", in.Name, len(in.Body), res.Status, n)
		}
		t.Logf("%s of %d bytes: %s", in.Name, len(in.Body), res.Status)
		return errors.New(res.Status)
	})
}
