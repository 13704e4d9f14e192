package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Topics is how the topics are made.
type Topics struct {
	Partitions int           // of the topic and the topic of commits; the dead-letter topic has one
	Replicas   int           // copies of each, on as many brokers
	Retention  time.Duration // of all but the commits: how long an ingest may be away without a loss
}

// keepCommits is how long the log has what a controller without any of it needs: as long as store.keep_windows, and
// policies look back less. Each closed window repeats the settings, so those of a PoP that is decided for stay.
const keepCommits = 7 * 24 * time.Hour

// Init makes the topics where they are missing, and returns what it made
// when the brokers tell of it. It changes none that is there.
func Init(ctx context.Context, a Address, t Topics) (did []string, err error) {
	admin, err := a.admin()
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	for _, topic := range []struct {
		name       string
		partitions int
		keep       time.Duration
	}{{a.Topic, t.Partitions, t.Retention}, {a.Dead(), 1, t.Retention}, {a.Commits(), t.Partitions, max(t.Retention, keepCommits)}} {
		_, err := admin.CreateTopic(ctx, int32(topic.partitions), int16(t.Replicas), t.settings(topic.keep), topic.name)
		switch {
		case errors.Is(err, kerr.TopicAlreadyExists):
		case err != nil:
			return did, fmt.Errorf("create topic %s: %w", topic.name, err)
		default:
			did = append(did, fmt.Sprintf("topic %s, %d partitions", topic.name, topic.partitions))
		}
	}
	return did, known(ctx, a)
}

// known waits for what was made: a broker may not tell of a topic that another one has just made.
func known(ctx context.Context, a Address) error {
	for {
		err := a.has(ctx, a.Topic, a.Dead(), a.Commits())
		if !errors.Is(err, ErrNoTopic) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// settings: with three copies a write waits for two of them, so that one broker may be away and
// another be lost without losing what was acknowledged.
func (t Topics) settings(keep time.Duration) map[string]*string {
	set := map[string]string{
		"retention.ms":        strconv.FormatInt(keep.Milliseconds(), 10),
		"max.message.bytes":   strconv.Itoa(MaxMessageBytes + 1024), // and its batch's header
		"min.insync.replicas": strconv.Itoa(max(1, t.Replicas-1)),
	}
	out := map[string]*string{}
	for k, v := range set {
		out[k] = &v
	}
	return out
}

// Check returns an error unless the topics that an ingest needs are there: [ErrNoTopic], or one of Kafka.
func Check(ctx context.Context, a Address) error { return a.has(ctx, a.Topic, a.Dead()) }

func (a Address) has(ctx context.Context, topics ...string) error {
	_, err := a.list(ctx, topics...)
	return err
}

func (a Address) list(ctx context.Context, topics ...string) (kadm.TopicDetails, error) {
	admin, err := a.admin()
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	list, err := admin.ListTopics(ctx, topics...)
	if err == nil {
		err = list.Error()
	}
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		err = ErrNoTopic
	}
	if err != nil {
		return nil, fmt.Errorf("check topics %s: %w", strings.Join(topics, ", "), err)
	}
	return list, nil
}

// ErrNoTopic is a topic that Init has not made.
var ErrNoTopic = errors.New("no such topic")

func (a Address) admin() (*kadm.Client, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	return kadm.NewClient(c), nil
}
