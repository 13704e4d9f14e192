package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/congctl/congctl/internal/fleet/store/kafka/kafkatest"
)

// waitTime bounds every wait of these tests.
const waitTime = 60 * time.Second

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fake is a topic in a cluster inside of the test.
func fake(t testing.TB) Address {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	check(t, err)
	t.Cleanup(c.Close)
	return made(t, Address{Brokers: c.ListenAddrs(), Topic: "records"})
}

func made(t testing.TB, a Address) Address {
	t.Helper()
	var err error
	for end := time.Now().Add(waitTime); ; { // a broker listens before it can do this
		if _, err = Init(t.Context(), a, Topics{Partitions: 4, Replicas: 1, Retention: time.Hour}); err == nil {
			return a
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func framed(body string) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(body))), body...)
}

func producer(t testing.TB, a Address, pop string) *Producer {
	t.Helper()
	p, err := NewProducer(a, pop, nil)
	check(t, err)
	t.Cleanup(p.Close)
	return p
}

func consumer(t testing.TB, a Address, group string) *Consumer {
	t.Helper()
	c, err := NewConsumer(a, group, nil)
	check(t, err)
	t.Cleanup(c.Close)
	return c
}

// collect polls until n messages came.
func collect(t testing.TB, c *Consumer, n int) (got []string) {
	t.Helper()
	for end := time.Now().Add(waitTime); len(got) < n; {
		if time.Now().After(end) {
			t.Fatalf("%d of %d messages came", len(got), n)
		}
		_ = c.Poll(t.Context(), time.Second, never, func(m []byte) error { // of a broker that is away
			got = append(got, string(m))
			return nil
		})
	}
	return got
}

// nothing fails if another message comes.
func nothing(t testing.TB, c *Consumer) {
	t.Helper()
	check(t, c.Poll(t.Context(), 500*time.Millisecond, never, func(m []byte) error {
		t.Errorf("%q comes again", m)
		return nil
	}))
}

// TestCommitOnlyWhenTold: the next member gets again what was not committed, and nothing else.
func TestCommitOnlyWhenTold(t *testing.T) { commitOnlyWhenTold(t, fake(t)) }

func commitOnlyWhenTold(t *testing.T, a Address) {
	p := producer(t, a, "fra")
	var first, second []string
	for i := range 20 {
		body := fmt.Sprint("message ", i)
		check(t, p.Send(t.Context(), framed(body)))
		first = append(first, body)
	}
	c := consumer(t, a, "ingest")
	if got := collect(t, c, 20); !slices.Equal(got, first) {
		t.Errorf("%q, want one PoP's messages in order: %q", got, first)
	}
	check(t, c.Mark()(t.Context()))
	for i := range 5 {
		body := fmt.Sprint("later ", i)
		check(t, p.Send(t.Context(), framed(body)))
		second = append(second, body)
	}
	if got := collect(t, c, 5); !slices.Equal(got, second) {
		t.Errorf("%q, want %q", got, second)
	}
	c.Close() // without a commit, as when it dies

	next := consumer(t, a, "ingest")
	if got := collect(t, next, 5); !slices.Equal(got, second) {
		t.Errorf("the next member got %q, want %q", got, second)
	}
	nothing(t, next)
	check(t, next.Mark()(t.Context()))
	next.Close()
	nothing(t, consumer(t, a, "ingest"))
}

// TestBehind: what a poll leaves in the queue counts until it is read, or another member has its partition.
func TestBehind(t *testing.T) {
	a := fake(t)
	p := producer(t, a, "fra")
	for i := range maxMessages + 10 {
		check(t, p.Send(t.Context(), framed(fmt.Sprint("message ", i))))
	}
	c, n := consumer(t, a, "ingest"), 0
	for n == 0 {
		check(t, c.Poll(t.Context(), 5*time.Second, never, func([]byte) error { n++; return nil }))
	}
	if want := int64(maxMessages + 10 - n); c.Behind() != want || want <= 0 {
		t.Errorf("%d behind after %d of %d", c.Behind(), n, maxMessages+10)
	}
	collect(t, c, maxMessages+10-n)
	if c.Behind() != 0 {
		t.Errorf("%d behind at the end", c.Behind())
	}
	c.place(kgo.FetchTopicPartition{FetchPartition: kgo.FetchPartition{Partition: 3, HighWatermark: 9, Records: []*kgo.Record{{Offset: 4}}}})
	if c.Behind() != 4 {
		t.Errorf("%d behind, want 4", c.Behind())
	}
	c.forget(t.Context(), nil, map[string][]int32{a.Topic: {3}})
	if c.Behind() != 0 {
		t.Errorf("%d behind in a partition of another member", c.Behind())
	}
}

// TestRefusedMessagesAreKept in the dead-letter topic with their reason.
func TestRefusedMessagesAreKept(t *testing.T) {
	a := fake(t)
	p := producer(t, a, "fra")
	long := strings.Repeat("x", maxDeadBytes+5)
	for _, body := range []string{"good", "bad", long, "good"} {
		check(t, p.Send(t.Context(), framed(body)))
	}
	c, good := consumer(t, a, "ingest"), 0
	for end := time.Now().Add(waitTime); good < 2 && time.Now().Before(end); {
		check(t, c.Poll(t.Context(), time.Second, never, func(m []byte) error {
			if string(m) != "good" {
				return errors.New("not good enough")
			}
			good++
			return nil
		}))
	}
	check(t, c.Mark()(t.Context()))
	letters := readDead(t, a, 2)
	if string(letters[0].Value) != "bad" || header(letters[0], "reason") != "not good enough" || header(letters[0], "offset") != "1" ||
		header(letters[0], "topic") != "records" || string(letters[0].Key) != "fra" {
		t.Errorf("%+v", letters[0])
	}
	if string(letters[1].Value) != long[:maxDeadBytes] || header(letters[1], "bytes") != fmt.Sprint(len(long)) {
		t.Errorf("a long one: %d bytes, %q", len(letters[1].Value), header(letters[1], "bytes"))
	}
}

func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// readDead reads the dead-letter topic.
func readDead(t testing.TB, a Address, n int) (letters []*kgo.Record) {
	t.Helper()
	c, err := a.client(kgo.ConsumeTopics(a.Dead()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	check(t, err)
	defer c.Close()
	ctx, done := context.WithTimeout(t.Context(), waitTime)
	defer done()
	for len(letters) < n && ctx.Err() == nil {
		letters = append(letters, c.PollFetches(ctx).Records()...)
	}
	if len(letters) != n {
		t.Fatalf("%d dead letters, want %d", len(letters), n)
	}
	return letters
}

// TestBomb: a compressed batch that would fill the memory is refused, and the next message comes.
func TestBomb(t *testing.T) {
	a := fake(t)
	raw, err := a.client(kgo.ProducerBatchMaxBytes(200<<20), kgo.MaxBufferedBytes(300<<20), kgo.BrokerMaxWriteBytes(300<<20))
	check(t, err)
	defer raw.Close()
	check(t, raw.ProduceSync(t.Context(), &kgo.Record{Key: []byte("fra"), Value: bytes.Repeat([]byte("0"), maxUnpackedBytes+1<<20)}).FirstErr())
	check(t, producer(t, a, "fra").Send(t.Context(), framed("after")))
	c, got := consumer(t, a, "ingest"), ""
	for end := time.Now().Add(waitTime); got == "" && time.Now().Before(end); {
		check(t, c.Poll(t.Context(), time.Second, never, func(m []byte) error {
			got = string(m)
			return nil
		}))
		check(t, c.Mark()(t.Context()))
	}
	if got != "after" {
		t.Errorf("%d bytes came", len(got))
	}
	if l := readDead(t, a, 1)[0]; !strings.Contains(header(l, "reason"), "decompresses") || header(l, "offset") != "0" {
		t.Errorf("%q", l.Headers)
	}
}

func TestInit(t *testing.T) {
	a := fake(t)
	check(t, Check(t.Context(), a))
	did, err := Init(t.Context(), a, Topics{Partitions: 9, Replicas: 1, Retention: time.Hour})
	if err != nil || len(did) > 0 {
		t.Errorf("the second init did %q, %v", did, err)
	}
	if err := Check(t.Context(), Address{Brokers: a.Brokers, Topic: "others"}); !errors.Is(err, ErrNoTopic) {
		t.Error("topics that are not there are in order")
	}
	admin, err := a.admin()
	check(t, err)
	defer admin.Close()
	list, err := admin.ListTopics(t.Context(), a.Topic)
	check(t, err)
	if n := len(list[a.Topic].Partitions); n != 4 {
		t.Errorf("%d partitions, want 4", n)
	}
	set, err := admin.DescribeTopicConfigs(t.Context(), a.Topic)
	check(t, err)
	commits, err := admin.DescribeTopicConfigs(t.Context(), a.Commits())
	check(t, err)
	if got, week := setting(set, "retention.ms"), setting(commits, "retention.ms"); got != "3600000" || week != "604800000" {
		t.Errorf("retention.ms is %s, of the commits %s", got, week)
	}
}

func setting(set kadm.ResourceConfigs, key string) string {
	for _, c := range set[0].Configs {
		if c.Key == key {
			return c.MaybeValue()
		}
	}
	return ""
}

func TestSendRefusesTornFrames(t *testing.T) {
	p := producer(t, Address{Brokers: []string{"127.0.0.1:1"}, Topic: "records"}, "fra")
	for _, f := range [][]byte{nil, framed("abc")[:3], append(framed("abc"), 1)} {
		if err := p.Send(t.Context(), f); err == nil || !strings.Contains(err.Error(), "length") {
			t.Errorf("%q: %v", f, err)
		}
	}
}

// TestRealBroker keeps its promises while it is killed in the middle: each message that was acknowledged comes. A message
// comes twice only if it was not committed, or if it was sent again, since its acknowledgement was lost.
func TestRealBroker(t *testing.T) {
	server := kafkatest.Start(t)
	a := made(t, Address{Brokers: []string{server.Broker()}, Topic: "records"})
	commitOnlyWhenTold(t, a)
	logOfOne(t, a)
	sharesOfTwo(t, a)

	a = made(t, Address{Brokers: []string{server.Broker()}, Topic: "killed"})
	const each = 2000
	sent, again := make(chan error), make(chan string, 100)
	for _, pop := range []string{"fra", "chi"} {
		p := producer(t, a, pop)
		go func() { sent <- sendAll(t.Context(), p, pop, each, again) }()
	}
	c := consumer(t, a, "ingest")
	committed, came := map[string]bool{}, map[string]bool{}
	first := collect(t, c, each/4)
	for _, m := range first {
		committed[m], came[m] = true, true
	}
	check(t, c.Mark()(t.Context()))
	server.Kill()
	server.Start()
	var repeats []string
	take := func(m string) {
		if came[m] = true; committed[m] {
			repeats = append(repeats, m)
		}
	}
	for len(came) < 2*each { // a restart that takes long ends the membership, and what was read since the commit comes again
		for _, m := range collect(t, c, 1) {
			take(m)
		}
	}
	check(t, <-sent)
	check(t, <-sent)
	check(t, c.Poll(t.Context(), 500*time.Millisecond, never, func(m []byte) error { take(string(m)); return nil }))
	close(again)
	for m := range again {
		repeats = slices.DeleteFunc(repeats, func(r string) bool { return r == m })
	}
	if len(committed) != len(first) || len(came) != 2*each || len(repeats) > 0 {
		t.Errorf("%d of %d messages came; of the first %d there are %d, and %q came again", len(came), 2*each, len(first), len(committed), repeats)
	}
}

// sendAll sends numbered messages one by one; one that fails is sent again, as an agent's spool does, and told.
func sendAll(ctx context.Context, p *Producer, pop string, n int, again chan<- string) (err error) {
	for i := range n {
		body := fmt.Sprintf("%s %06d", pop, i)
		for try := 0; ; try++ {
			if err = p.Send(ctx, framed(body)); err == nil {
				break
			}
			if try == 10 {
				return err
			}
			again <- body
		}
	}
	return nil
}
