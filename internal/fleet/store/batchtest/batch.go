// Package batchtest makes up batches of connection records for tests of stores and transports.
//
// It is for tests alone and models no traffic: Client is a download as an edge sees many, with
// figures that vary as much as real ones, so that sizes on disk mean something; Random is any record
// that could be.
//
// Its trap: the records of a seed differ between versions of this package, so no test may have
// their figures.
package batchtest

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Batch is a message Batch and what is in it.
type Batch struct {
	Head  wire.Header
	Conns []record.Conn
	Body  []byte // without its length
}

// New codes a batch.
func New(tb testing.TB, h wire.Header, conns ...record.Conn) Batch {
	tb.Helper()
	var b wire.Batch
	for i := range conns {
		if err := b.Add(&conns[i]); err != nil {
			tb.Fatal(err)
		}
	}
	frame, err := b.AppendFrame(nil, &h)
	if err != nil {
		tb.Fatal(err)
	}
	_, n := binary.Uvarint(frame)
	return Batch{h, conns, frame[n:]}
}

// Clients returns batches of each of some hosts, numbered from 1, with clients' records of one
// window: hosts x each x conns.
func Clients(tb testing.TB, rng *rand.Rand, pop string, window int64, hosts, each, conns int) (batches []Batch) {
	tb.Helper()
	for host := range hosts {
		h := wire.Header{Boot: record.BootID{byte(host), 0xb0, 0x07, 1}, Host: "edge" + string(rune('a'+host)), PoP: pop}
		for range each {
			h.Sequence++
			var list []record.Conn
			for range conns {
				list = append(list, Client(rng, window))
			}
			batches = append(batches, New(tb, h, list...))
		}
	}
	return batches
}
