package main

import (
	"github.com/congctl/congctl/internal/fleet/uplink"
	"github.com/congctl/congctl/internal/loop/store/wire"
)

// uplinkBatch codes an agent's batches for its uplink.
type uplinkBatch struct {
	wire.Batch
	head wire.Header
}

func (b *uplinkBatch) AppendFrame(dst []byte, sequence uint64, ends []uplink.WindowEnd) ([]byte, error) {
	b.head.Sequence, b.head.Ends = sequence, nil
	for _, e := range ends {
		b.head.Ends = append(b.head.Ends, wire.WindowEnd(e))
	}
	return b.Batch.AppendFrame(dst, &b.head)
}
