package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Producer sends one PoP's batches. Its methods may be called at the same time.
type Producer struct {
	client *kgo.Client
	pop    []byte
	sign   Sign
}

// NewProducer connects at the first Send. With sign nil, batches go without a signature.
func NewProducer(a Address, pop string, sign Sign) (*Producer, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	return &Producer{c, []byte(pop), sign}, nil
}

// Send sends a frame, a message Batch behind its length, and returns when all of the partition's
// replicas that are in step have it. Kafka itself drops what the client repeats within one Send.
// After an error the batch may be there or not; sending it again does no harm.
func (p *Producer) Send(ctx context.Context, frame []byte) error {
	size, n := binary.Uvarint(frame)
	if n <= 0 || size != uint64(len(frame)-n) {
		return errors.New("send batch: the frame's length is not that of its batch")
	}
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	headers, err := p.sign.headers(frame[n:])
	if err != nil {
		return fmt.Errorf("send batch: %w", err)
	}
	if err := p.client.ProduceSync(ctx, &kgo.Record{Key: p.pop, Value: frame[n:], Headers: headers}).FirstErr(); err != nil {
		return fmt.Errorf("send batch: %w", err)
	}
	return nil
}

// Close closes the connections. Batches without an acknowledgement are dropped.
func (p *Producer) Close() { p.client.Close() }
