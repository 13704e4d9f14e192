package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// What the dead-letter topic keeps of a refused message, in bytes. Each part is bounded: all of them are the sender's, the
// reason too, which may quote it. So a letter has at most 70 kB, and the topic never takes up more than the topic of batches.
const (
	maxDeadBytes   = 64 << 10 // of the value: enough to see what it was
	maxKeyBytes    = 1 << 10  // a PoP's name has 64
	maxReasonBytes = 1 << 10
)

// letterOf is what the dead-letter topic keeps of a message.
func (c *Consumer) letterOf(r *kgo.Record, reason error) *kgo.Record {
	return &kgo.Record{Topic: c.from.Dead(), Key: cut(r.Key, maxKeyBytes), Value: cut(r.Value, maxDeadBytes), Headers: append(placeOf(r),
		kgo.RecordHeader{Key: "bytes", Value: []byte(strconv.Itoa(len(r.Value)))},
		kgo.RecordHeader{Key: headerReason, Value: []byte(printable(reason.Error()))})}
}

const headerReason = "reason"

func placeOf(r *kgo.Record) []kgo.RecordHeader {
	return []kgo.RecordHeader{
		{Key: "topic", Value: []byte(r.Topic)},
		{Key: "partition", Value: []byte(strconv.Itoa(int(r.Partition)))},
		{Key: "offset", Value: []byte(strconv.FormatInt(r.Offset, 10))},
	}
}

func cut(b []byte, most int) []byte { return append([]byte(nil), b[:min(len(b), most)]...) }

func printable(s string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s[:min(len(s), maxReasonBytes)])
	return strings.ToValidUTF8(clean[:min(len(clean), maxReasonBytes)], "")
}

// bareOf has only the place of the message, which is still there until the topic's retention. Its key is for a topic that is
// compacted, and takes none without.
func bareOf(letter *kgo.Record) *kgo.Record {
	place := letter.Headers[:len(placeOf(letter))]
	var key []string
	for _, h := range place {
		key = append(key, string(h.Value))
	}
	return &kgo.Record{Topic: letter.Topic, Key: []byte(strings.Join(key, "/")), Headers: place}
}

const (
	// patience is how often a letter is tried whole after errors that may pass. One that makes a broker end the connection looks
	// as if the broker were away.
	patience = 3
	// deadTime bounds a try: nothing is read meanwhile.
	deadTime = 10 * time.Second
)

// bury writes what waits for the dead-letter topic. A letter that the topic will never take goes there bare, and one that it
// takes in no form is counted, so that what a client wrote never stops the topic of batches. While the brokers are away all wait.
func (c *Consumer) bury(ctx context.Context) (err error) {
	if len(c.dead) == 0 {
		return nil
	}
	c.tries++
	var waiting []*kgo.Record
	for _, r := range c.write(ctx, c.dead...) {
		if r.Err != nil && err == nil {
			err = c.again(ctx, r.Record, r.Err)
		}
		if r.Err != nil && err != nil { // the first that cannot be written now, and those behind it
			waiting = append(waiting, r.Record)
		}
	}
	if c.dead = waiting; err != nil {
		return fmt.Errorf("write %s: %w", c.from.Dead(), err)
	}
	c.tries = 0
	return nil
}

// again tries a letter that failed with others, alone and then bare. An error is one that may pass.
func (c *Consumer) again(ctx context.Context, letter *kgo.Record, err error) error {
	if forGood(err) {
		err = c.write(ctx, letter).FirstErr()
	}
	if forGood(err) || err != nil && c.tries >= patience {
		err = c.write(ctx, bareOf(letter)).FirstErr()
	}
	if forGood(err) {
		c.lost.Add(1)
		return nil
	}
	return err
}

func (c *Consumer) write(ctx context.Context, letters ...*kgo.Record) kgo.ProduceResults {
	ctx, done := context.WithTimeout(ctx, deadTime)
	defer done()
	for _, l := range letters {
		l.Context = nil // the client keeps that of the first try, which is over
	}
	return c.client.ProduceSync(ctx, letters...)
}

// forGood reports whether a broker, or the client for it, refused a letter for what it is or where it goes. That the topic is not
// there the client has asked several times; without a login nothing is read either.
func forGood(err error) bool {
	var refusal *kerr.Error
	return errors.As(err, &refusal) && (!refusal.Retriable || refusal == kerr.UnknownTopicOrPartition) && refusal != kerr.SaslAuthenticationFailed
}
