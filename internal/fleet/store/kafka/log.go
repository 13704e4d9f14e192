package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Commits is the name of the topic of commits, by which controllers share PoPs.
func (a Address) Commits() string { return a.Topic + ".commits" }

// Log is one PoP's part of the topic of commits, for the one who took it last: a later TakeLog, here
// or on another host, has the broker refuse each Append of this one. That is Kafka's own fencing of
// a transactional id. One goroutine at a time may use it.
type Log struct {
	a          Address
	pop        string
	partition  int32
	partitions int
	client     *kgo.Client
}

// ErrFenced is an append of one whose PoP another has taken.
var ErrFenced = errors.New("another controller has taken the PoP")

const (
	// maxPiece bounds a message; a commit of 10,000 networks is several, in one transaction.
	maxPiece = 900 << 10
	// transactionTime is how long a transaction of a controller that was killed holds up the readers of its
	// partition, unless another takes the PoP before.
	transactionTime = 20 * time.Second
	// appendTime is how long brokers may be away without a controller giving up its PoP; others count it as dead
	// after deadAfter.
	appendTime = 10 * time.Second
)

// Headers of a message: which piece of its commit it is, from 0 on, and whether it is the last.
const (
	headerPiece = "piece"
	headerLast  = "last"
)

// TakeLog takes a PoP's log. It returns when no earlier owner's append can succeed any more, and those
// that did are there to read.
func TakeLog(ctx context.Context, a Address, pop string) (*Log, error) {
	n, err := partitionsOf(ctx, a, a.Commits())
	if err != nil {
		return nil, err
	}
	l := &Log{a: a, pop: pop, partitions: n, partition: partitionOf(pop, n)}
	l.client, err = a.client(kgo.TransactionalID(a.Commits()+"/"+pop), kgo.TransactionTimeout(transactionTime), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return nil, err
	}
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	if _, _, err := l.client.ProducerID(ctx); err != nil {
		l.client.Close()
		return nil, fmt.Errorf("take log of pop %s: %w", pop, err)
	}
	return l, nil
}

// partitionOf is Kafka's default: murmur2 of the key.
func partitionOf(pop string, partitions int) int32 {
	p := kgo.StickyKeyPartitioner(nil).ForTopic("")
	return int32(p.Partition(&kgo.Record{Key: []byte(pop)}, partitions))
}

// Partitions is how many the topic has. With another number the PoP's log would be elsewhere.
func (l *Log) Partitions() int { return l.partitions }

// Append puts a body behind all that is there, whole or not at all, and returns the offset of its last
// message when all replicas that are in step have it. After an error it may be there or not, and
// the log must be taken anew.
func (l *Log) Append(ctx context.Context, body []byte) (offset int64, err error) {
	ctx, done := context.WithTimeout(ctx, appendTime)
	defer done()
	if err = l.client.BeginTransaction(); err == nil {
		if offset, err = l.produce(ctx, l.pieces(body)); err == nil {
			err = l.client.EndTransaction(ctx, kgo.TryCommit)
		} else {
			_ = l.client.AbortBufferedRecords(ctx)
		}
	}
	switch {
	case errors.Is(err, kerr.ProducerFenced), errors.Is(err, kerr.InvalidProducerEpoch), errors.Is(err, kerr.InvalidProducerIDMapping):
		return 0, fmt.Errorf("append to log of pop %s: %w", l.pop, ErrFenced)
	case err != nil:
		return 0, fmt.Errorf("append to log of pop %s: %w", l.pop, err)
	}
	return offset, nil
}

// produce returns the offset of the last message. The client waits beyond ctx for what it has sent without an answer, since
// it cannot know whether that is there; neither can who takes the log anew.
func (l *Log) produce(ctx context.Context, messages []*kgo.Record) (offset int64, err error) {
	produced := make(chan kgo.ProduceResults, 1)
	go func() { produced <- l.client.ProduceSync(ctx, messages...) }()
	select {
	case r := <-produced:
		return r[len(r)-1].Record.Offset, r.FirstErr()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (l *Log) pieces(body []byte) (out []*kgo.Record) {
	for i := 0; i == 0 || len(body) > 0; i++ {
		n := min(len(body), maxPiece)
		r := &kgo.Record{Topic: l.a.Commits(), Partition: l.partition, Key: []byte(l.pop), Value: body[:n],
			Headers: []kgo.RecordHeader{{Key: headerPiece, Value: strconv.AppendInt(nil, int64(i), 10)}}}
		if body = body[n:]; len(body) == 0 {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: headerLast})
		}
		out = append(out, r)
	}
	return out
}

// Read calls each with every body that was appended from offset from on, up to the one whose last
// message is at until. The retention may have removed the first ones. A body is the caller's.
func (l *Log) Read(ctx context.Context, from, until int64, each func(offset int64, body []byte) error) error {
	c, err := l.a.client(kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxBytes(maxFetchBytes), kgo.FetchMaxPartitionBytes(maxFetchBytes/4),
		kgo.MaxDecompressBatchBytes(maxUnpackedBytes), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{l.a.Commits(): {l.partition: kgo.NewOffset().At(from)}}))
	if err != nil {
		return err
	}
	defer c.Close()
	whole := assembler{pop: l.pop}
	for at := int64(-1); at < until; {
		waiting, done := context.WithTimeout(ctx, requestTime) // for the next message: the last one is there
		fetches := c.PollRecords(waiting, maxMessages)
		done()
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read log of pop %s: %w", l.pop, err)
		}
		for _, r := range fetches.Records() {
			at = r.Offset
			if body := whole.add(r); body != nil && at <= until {
				if err := each(at, body); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Close gives up the log. The next TakeLog, here or elsewhere, does not wait for it.
func (l *Log) Close() { l.client.Close() }

// assembler puts the pieces of one PoP's bodies together. A body whose first pieces are before where
// the reading began, or which the retention has cut, is left out.
type assembler struct {
	pop  string
	body []byte
	next int // piece
}

// maxBody bounds what a false message could make it keep.
const maxBody = 256 << 20

func (a *assembler) add(r *kgo.Record) (body []byte) {
	if !bytes.Equal(r.Key, []byte(a.pop)) {
		return nil
	}
	piece, last := -1, false
	for _, h := range r.Headers {
		switch h.Key {
		case headerPiece:
			piece, _ = strconv.Atoi(string(h.Value))
		case headerLast:
			last = true
		}
	}
	if piece == 0 {
		a.body, a.next = []byte{}, 0
	}
	if piece != a.next || len(a.body)+len(r.Value) > maxBody {
		a.body, a.next = nil, -1
		return nil
	}
	a.body, a.next = append(a.body, r.Value...), a.next+1
	if !last {
		return nil
	}
	body, a.body, a.next = a.body, nil, -1
	return body
}
