package kafka

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxDeadBytes of a refused message are kept: enough to see what it was, and the dead-letter topic
// never takes up more than the topic.
const maxDeadBytes = 64 << 10

// letterOf is what the dead-letter topic keeps of a message.
func (c *Consumer) letterOf(r *kgo.Record, reason error) *kgo.Record {
	value := append([]byte(nil), r.Value[:min(len(r.Value), maxDeadBytes)]...)
	return &kgo.Record{Topic: c.from.Dead(), Key: r.Key, Value: value, Headers: []kgo.RecordHeader{
		{Key: "reason", Value: []byte(reason.Error())},
		{Key: "topic", Value: []byte(r.Topic)},
		{Key: "partition", Value: []byte(strconv.Itoa(int(r.Partition)))},
		{Key: "offset", Value: []byte(strconv.FormatInt(r.Offset, 10))},
		{Key: "bytes", Value: []byte(strconv.Itoa(len(r.Value)))},
	}}
}

// bury writes what waits for the dead-letter topic.
func (c *Consumer) bury(ctx context.Context) error {
	if len(c.dead) == 0 {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	if err := c.client.ProduceSync(ctx, c.dead...).FirstErr(); err != nil {
		return fmt.Errorf("write %s: %w", c.from.Dead(), err)
	}
	c.dead = nil
	return nil
}
