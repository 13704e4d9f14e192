package kafka

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func never() bool { return false }

// noise is a value that compression leaves as long as it is.
func noise(n int) []byte {
	b := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(b)
	return b
}

// TestDeadLettersNeverStopTheirSource, whatever a client wrote and whatever the dead-letter topic does not take: the next
// message comes, and the offset is committed.
func TestDeadLettersNeverStopTheirSource(t *testing.T) {
	for _, c := range []struct {
		name   string
		key    []byte
		value  []byte
		reason string
		broker func(letterBytes int) error // of each write of letters; errClose ends the connection
		bare   bool
		lost   uint64
	}{
		{name: "a key of 8 MiB of zeros", key: make([]byte, 8<<20), value: []byte("evil"), reason: "refused"},
		{name: "a key of 2 MiB of zeros", key: make([]byte, 2<<20), value: []byte("evil"), reason: "refused"},
		{name: "a reason that quotes what was sent, escaped", key: []byte("k"), value: []byte("evil"), reason: strings.Repeat("\x01\xff\u202e", 400_000)},
		{name: "a value of 1 MiB", value: noise(MaxMessageBytes - 1000), reason: "refused"},
		{name: "a letter that the broker calls no record", value: noise(9000), reason: "refused", broker: longer(kerr.InvalidRecord), bare: true},
		{name: "a topic whose messages are shorter", value: noise(9000), reason: "refused", broker: longer(kerr.MessageTooLarge), bare: true},
		{name: "a topic that takes nothing", value: noise(9000), reason: "refused", broker: func(int) error { return kerr.PolicyViolation }, lost: 1},
		{name: "a topic that is not ours to write", value: noise(9000), reason: "refused", broker: func(int) error { return kerr.TopicAuthorizationFailed }, lost: 1},
		{name: "a letter at which the broker ends the connection", value: noise(9000), reason: "refused", broker: longer(errClose), bare: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // one waits
			cluster, a := cluster(t)
			raw, err := a.client(kgo.ProducerBatchMaxBytes(20<<20), kgo.MaxBufferedBytes(50<<20), kgo.BrokerMaxWriteBytes(50<<20))
			check(t, err)
			defer raw.Close()
			check(t, raw.ProduceSync(t.Context(), &kgo.Record{Partition: 0, Key: c.key, Value: c.value}).FirstErr())
			check(t, producer(t, a, "fra").Send(t.Context(), framed("after")))
			if c.broker != nil {
				answerLetters(cluster, c.broker)
			}
			closes := c.broker != nil && errors.Is(c.broker(9000), errClose)
			reader, came, refused := consumer(t, a, "ingest"), false, false // in either order: they are in two partitions
			if closes {
				reader.tries = patience - 1 // each try waits for deadTime
			}
			for end := time.Now().Add(waitTime); !came || !refused || reader.dead != nil; {
				if time.Now().After(end) {
					t.Fatal("the next message does not come")
				}
				if err := reader.Poll(t.Context(), time.Second, never, func(m []byte) error {
					if refused = refused || string(m) != "after"; string(m) != "after" {
						return errors.New(c.reason)
					}
					came = true
					return nil
				}); err != nil && !closes {
					t.Error(err)
				}
			}
			check(t, reader.Mark()(t.Context()))
			if reader.Lost() != c.lost {
				t.Errorf("%d lost, want %d", reader.Lost(), c.lost)
			}
			if c.lost == 0 {
				isLetter(t, readDead(t, a, 1)[0], c.bare)
			}
		})
	}
}

var errClose = errors.New("the broker ends the connection")

// longer refuses letters with a value.
func longer(err error) func(int) error {
	return func(n int) error {
		if n > 4096 {
			return err
		}
		return nil
	}
}

func isLetter(t *testing.T, l *kgo.Record, bare bool) {
	t.Helper()
	reason := header(l, headerReason)
	if len(l.Key) > maxKeyBytes || len(l.Value) > maxDeadBytes || len(reason) > maxReasonBytes || !utf8.ValidString(reason) || strings.ContainsFunc(reason, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("key of %d bytes, value of %d, reason %q", len(l.Key), len(l.Value), reason)
	}
	if header(l, "topic") != "records" || header(l, "offset") != "0" || header(l, "partition") == "" {
		t.Errorf("%q", l.Headers)
	}
	if bare != (reason == "") || bare != (len(l.Value) == 0) || bare && string(l.Key) != "records/"+header(l, "partition")+"/0" {
		t.Errorf("bare %t, want %t: key %q, value of %d bytes", reason == "", bare, l.Key, len(l.Value))
	}
}

// TestLettersWaitForTheBroker: while it is away nothing is read, and nothing of a letter gets lost.
func TestLettersWaitForTheBroker(t *testing.T) {
	cluster, a := cluster(t)
	p := producer(t, a, "fra")
	check(t, p.Send(t.Context(), framed(string(noise(9000)))))
	c := consumer(t, a, "ingest")
	away := atomic.Bool{}
	away.Store(true)
	answerLetters(cluster, func(int) error {
		if away.Load() {
			return kerr.NotEnoughReplicas
		}
		return nil
	})
	refuse := func([]byte) error { return errors.New("refused") }
	try := func(do func(ctx context.Context) error) error {
		ctx, done := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer done()
		return do(ctx)
	}
	poll := func(ctx context.Context) error { return c.Poll(ctx, 200*time.Millisecond, never, refuse) }
	for end := time.Now().Add(waitTime); len(c.dead) == 0 && time.Now().Before(end); {
		_ = c.Poll(t.Context(), 5*time.Second, never, refuse)
	}
	if err := try(poll); err == nil || len(c.dead) != 1 {
		t.Errorf("%v, %d letters wait", err, len(c.dead))
	}
	if err := try(c.Mark()); err == nil {
		t.Error("committed")
	}
	c.tries = 0 // or the next one could be bare
	away.Store(false)
	check(t, c.Poll(t.Context(), time.Second, never, refuse))
	check(t, c.Mark()(t.Context()))
	for _, l := range readDead(t, a, 1) {
		isLetter(t, l, false)
	}
	if c.Lost() != 0 {
		t.Errorf("%d lost", c.Lost())
	}
}

// cluster is fake, and its brokers.
func cluster(t *testing.T) (*kfake.Cluster, Address) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "33554432"}))
	check(t, err)
	t.Cleanup(c.Close)
	return c, made(t, Address{Brokers: c.ListenAddrs(), Topic: "records"})
}

// answerLetters answers each write from now on; nil leaves it to the broker.
func answerLetters(cluster *kfake.Cluster, answer func(letterBytes int) error) {
	cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		ask := r.(*kmsg.ProduceRequest)
		resp := ask.ResponseKind().(*kmsg.ProduceResponse)
		handled := false
		for _, topic := range ask.Topics {
			said := kmsg.NewProduceResponseTopic()
			said.Topic, said.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				part := kmsg.NewProduceResponseTopicPartition()
				part.Partition = p.Partition
				switch err := answer(len(p.Records)); {
				case err == errClose:
					return nil, err, true
				case err != nil:
					part.ErrorCode, handled = err.(*kerr.Error).Code, true
				}
				said.Partitions = append(said.Partitions, part)
			}
			resp.Topics = append(resp.Topics, said)
		}
		return resp, nil, handled
	})
}
