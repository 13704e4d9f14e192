package kafka

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Address is a topic of a cluster.
type Address struct {
	Brokers []string // host:port
	Topic   string
}

// Dead is the name of the topic for messages that were refused.
func (a Address) Dead() string { return a.Topic + ".dead" }

var (
	plainTopic  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,240}$`) // Kafka's own rule, with room for ".dead"
	plainBroker = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}$`)
)

// ParseAddress reads kafka://host:9092,host:9092/topic.
func ParseAddress(s string) (Address, error) {
	rest, ok := strings.CutPrefix(s, "kafka://")
	brokers, topic, _ := strings.Cut(rest, "/")
	a := Address{strings.Split(brokers, ","), topic}
	if !ok || !plainTopic.MatchString(topic) {
		return Address{}, fmt.Errorf("read Kafka's address %q: write kafka://host:9092/topic, several hosts with commas", s)
	}
	for _, b := range a.Brokers {
		if !plainBroker.MatchString(b) {
			return Address{}, fmt.Errorf("read Kafka's address %q: broker %q: write host:port", s, b)
		}
	}
	return a, nil
}

const (
	// MaxMessageBytes bounds a message: brokers take 1 MiB unless told otherwise, and wire's
	// batches have a quarter of it.
	MaxMessageBytes = 1 << 20
	// maxFetchBytes bounds what waits in memory for Poll.
	maxFetchBytes = 32 << 20
	// maxUnpackedBytes bounds what a compressed batch of messages may become: a real one of 1 MiB
	// becomes some 3 MiB.
	maxUnpackedBytes = 64 << 20
	// requestTime bounds each request to a broker: one that is away for longer is an error, and
	// who sent tries again.
	requestTime = 30 * time.Second
	dialTime    = 5 * time.Second
)

// client is what producer and consumer have in common.
func (a Address) client(more ...kgo.Opt) (*kgo.Client, error) {
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(a.Brokers...), kgo.ClientID("congctl"), kgo.DefaultProduceTopic(a.Topic),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.ProducerBatchMaxBytes(MaxMessageBytes), kgo.RecordDeliveryTimeout(requestTime), kgo.ProducerLinger(0),
		kgo.RetryTimeout(requestTime), kgo.DialTimeout(dialTime),
	}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("open Kafka: %w", err)
	}
	return c, nil
}
