package kafka

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/congctl/congctl/internal/loop/address"
)

// Address is a topic of a cluster, and how to get in.
type Address address.Kafka

// Dead is the name of the topic for messages that were refused.
func (a Address) Dead() string { return a.Topic + ".dead" }

// ParseAddress is [address.ParseKafka].
func ParseAddress(s string) (Address, error) {
	a, err := address.ParseKafka(s)
	return Address(a), err
}

// String is the address without user and password.
func (a Address) String() string { return address.Kafka(a).String() }

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
	secure, err := a.security()
	if err != nil {
		return nil, fmt.Errorf("open Kafka: %w", err)
	}
	c, err := kgo.NewClient(append(append([]kgo.Opt{
		kgo.SeedBrokers(a.Brokers...), kgo.ClientID("congctl"), kgo.DefaultProduceTopic(a.Topic),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.ProducerBatchMaxBytes(MaxMessageBytes), kgo.RecordDeliveryTimeout(requestTime), kgo.ProducerLinger(0),
		kgo.RetryTimeout(requestTime), kgo.DialTimeout(dialTime),
	}, secure...), more...)...)
	if err != nil {
		return nil, fmt.Errorf("open Kafka: %w", err)
	}
	return c, nil
}
