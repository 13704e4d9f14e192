package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Consumer is one member of a consumer group. Not safe for concurrent use.
type Consumer struct {
	from   Address
	group  string
	client *kgo.Client
	dead   []*kgo.Record // refused, and not yet in the dead-letter topic
	tries  int           // to write them that failed, one after the other
	skip   offsets       // past what cannot be read
	behind sync.Map      // by partition: messages behind the last one read
	unread atomic.Uint64 // messages too large to hand out
	lost   atomic.Uint64 // refused messages of which the dead-letter topic has nothing
	verify Verify        // nil: who signed is not asked
}

type offsets map[string]map[int32]kgo.EpochOffset

// NewConsumer joins the group; a new group begins at the oldest message. What verify does not take goes to the
// dead-letter topic; nil takes all.
func NewConsumer(a Address, group string, verify Verify) (*Consumer, error) {
	c := &Consumer{from: a, group: group, verify: verify}
	return c, c.join()
}

func (c *Consumer) join() (err error) {
	c.skip = offsets{}
	c.client, err = c.from.client(kgo.ConsumerGroup(c.group), kgo.ConsumeTopics(c.from.Topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxBytes(maxFetchBytes), kgo.FetchMaxPartitionBytes(maxFetchBytes/4),
		kgo.MaxDecompressBatchBytes(maxUnpackedBytes), kgo.SessionTimeout(sessionTime),
		kgo.OnPartitionsRevoked(c.forget), kgo.OnPartitionsLost(c.forget),
		kgo.DisableIdempotentWrite()) // else a letter that was sent once cannot be given up; one that comes twice does no harm
	return err
}

// sessionTime is how long a member that was killed keeps its partitions. It beats in the background
// every three seconds, also while ClickHouse is away.
const sessionTime = 15 * time.Second

// maxMessages bounds what one Poll hands out, and so the dead letters of one.
const maxMessages = 50

// Poll waits at most wait for messages and hands them to take, which may not keep them, until full: how much a message
// brings is its sender's choice. The others stay with the client, not marked as done. A message
// that take refuses goes to the dead-letter topic, with the reason, before Poll returns; while the
// brokers are away Poll hands out no more, and nothing is committed. An error is of Kafka, never of
// a message: what was handed out before stays handed out.
func (c *Consumer) Poll(ctx context.Context, wait time.Duration, full func() bool, take func(message []byte) error) error {
	if err := c.bury(ctx); err != nil {
		return err
	}
	polling, done := context.WithTimeout(ctx, wait)
	defer done()
	var err error
	for n := 0; n < maxMessages && !full(); n++ { // one by one, since what the client hands out counts as done
		fetches := c.client.PollRecords(polling, 1)
		fetches.EachPartition(c.place)
		fetches.EachRecord(func(r *kgo.Record) {
			if err := c.accept(r, take); err != nil {
				c.dead = append(c.dead, c.letterOf(r, err))
			}
		})
		if err = errors.Join(err, c.errorsOf(fetches)); fetches.NumRecords() == 0 {
			break
		}
		polling = nil // what is there already
	}
	return errors.Join(err, c.bury(ctx))
}

func (c *Consumer) place(p kgo.FetchTopicPartition) {
	if n := len(p.Records); n > 0 {
		c.behind.Store(p.Partition, p.HighWatermark-p.Records[n-1].Offset-1)
	}
}

// Behind counts the messages that wait behind those read, as of the last read. Any goroutine may ask.
func (c *Consumer) Behind() (n int64) {
	c.behind.Range(func(_, messages any) bool { n += messages.(int64); return true })
	return n
}

// Unread counts the messages that were too large to hand out and went to the dead-letter topic. Any
// goroutine may ask.
func (c *Consumer) Unread() uint64 { return c.unread.Load() }

// Lost counts the refused messages of which the dead-letter topic takes nothing. Any goroutine may ask.
func (c *Consumer) Lost() uint64 { return c.lost.Load() }

// forget drops the partitions that another member has taken.
func (c *Consumer) forget(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	for _, partition := range gone[c.from.Topic] {
		c.behind.Delete(partition)
	}
}

func (c *Consumer) accept(r *kgo.Record, take func([]byte) error) error {
	if len(r.Value) > MaxMessageBytes {
		c.unread.Add(1)
		return fmt.Errorf("a message of %d bytes; at most %d", len(r.Value), MaxMessageBytes)
	}
	if c.verify != nil {
		if err := c.verify(r.Value, signatureOf(r)); err != nil {
			return err
		}
	}
	return take(r.Value)
}

// errorsOf returns the errors of Kafka. That nothing came in time is none; a batch of messages that
// would unpack to more than a batch can be is refused as a message is.
func (c *Consumer) errorsOf(fetches kgo.Fetches) (err error) {
	fetches.EachError(func(topic string, partition int32, e error) {
		var bomb *kgo.ErrDecompressTooLarge
		switch {
		case errors.Is(e, context.DeadlineExceeded) || errors.Is(e, context.Canceled):
		case errors.As(e, &bomb):
			c.unread.Add(1)
			c.dead = append(c.dead, c.letterOf(&kgo.Record{Topic: topic, Partition: partition, Offset: bomb.Offset}, e))
			if c.skip[topic] == nil {
				c.skip[topic] = map[int32]kgo.EpochOffset{}
			}
			c.skip[topic][partition] = kgo.EpochOffset{Epoch: bomb.Epoch, Offset: bomb.NextOffset}
		default:
			err = errors.Join(err, fmt.Errorf("read %s, partition %d: %w", topic, partition, e))
		}
	})
	return err
}

// Mark returns what marks everything that Poll has returned so far as done, while Poll goes on. After
// an error it may be delivered again. It may be called while nothing is polled.
func (c *Consumer) Mark() (commit func(context.Context) error) {
	done, skip := offsets(c.client.UncommittedOffsets()), c.skip
	c.skip = offsets{}
	return func(ctx context.Context) error {
		if err := c.bury(ctx); err != nil {
			return err
		}
		if err := c.commit(ctx, done); err != nil || len(skip) == 0 {
			return err
		}
		return c.leap(ctx, skip)
	}
}

func (c *Consumer) commit(ctx context.Context, o offsets) (err error) {
	if len(o) == 0 {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	c.client.CommitOffsetsSync(ctx, o, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, r *kmsg.OffsetCommitResponse, e error) {
		if err = e; e == nil {
			err = refusalOf(r)
		}
	})
	if err != nil {
		return fmt.Errorf("commit offsets: %w", err)
	}
	return nil
}

// refusalOf returns the first refusal of a partition.
func refusalOf(r *kmsg.OffsetCommitResponse) error {
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("partition %d: %w", p.Partition, err)
			}
		}
	}
	return nil
}

// leap commits offsets past what the client refuses to read, and joins again: the client has
// stopped reading these partitions for good. What was polled since comes again.
func (c *Consumer) leap(ctx context.Context, skip offsets) error {
	if err := c.commit(ctx, skip); err != nil {
		return err
	}
	c.client.Close()
	return c.join()
}

// Close leaves the group and commits nothing.
func (c *Consumer) Close() { c.client.Close() }
