package kafka

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Address is a topic of a cluster, and how to get in.
type Address struct {
	Brokers []string // host:port
	Topic   string

	TLS            bool
	CA, Cert, Key  string // PEM files; "": the system's authorities, no certificate of our own
	User, Password string // "": no SASL
	Plain          bool   // SASL PLAIN in place of SCRAM-SHA-512
}

// Dead is the name of the topic for messages that were refused.
func (a Address) Dead() string { return a.Topic + ".dead" }

var (
	plainTopic  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,230}$`) // Kafka's own rule, with room for the other topics
	plainBroker = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}$`)
)

// ParseAddress reads kafka://host:9092,host:9092/topic, or with TLS and SASL
// kafka+tls://user:password@host:9093/topic?ca=/etc/kafka/ca.pem. Errors and String leave the
// password out.
func ParseAddress(s string) (Address, error) {
	a, err := parse(s)
	if err != nil {
		return Address{}, fmt.Errorf("read Kafka's address: %w", err)
	}
	return a, nil
}

func parse(s string) (a Address, err error) {
	rest, options, _ := strings.Cut(s, "?")
	scheme, rest, _ := strings.Cut(rest, "://")
	if scheme != "kafka" && scheme != "kafka+tls" {
		return a, errors.New("it begins neither with kafka:// nor with kafka+tls://: write kafka://host:9092/topic")
	}
	a.TLS = scheme == "kafka+tls"
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		if a.User, a.Password, err = credentials(rest[:at]); err != nil {
			return a, err
		}
		rest = rest[at+1:]
	}
	brokers, topic, _ := strings.Cut(rest, "/")
	a.Brokers, a.Topic = strings.Split(brokers, ","), topic
	if !plainTopic.MatchString(topic) {
		return a, fmt.Errorf("topic %q: write kafka://host:9092/topic, several hosts with commas", topic)
	}
	for _, b := range a.Brokers {
		if !plainBroker.MatchString(b) {
			return a, fmt.Errorf("broker %q: write host:port", b)
		}
	}
	return a, a.option(options)
}

// credentials reads user:password, in which a URL's special characters are %XX.
func credentials(s string) (user, password string, err error) {
	name, word, found := strings.Cut(s, ":")
	user, err1 := url.PathUnescape(name)
	password, err2 := url.PathUnescape(word)
	if !found || user == "" || errors.Join(err1, err2) != nil {
		return "", "", errors.New("before the @: write user:password, with %XX for special characters")
	}
	return user, password, nil
}

// option reads what stands behind the "?".
func (a *Address) option(s string) error {
	given, err := url.ParseQuery(s)
	if err != nil {
		return fmt.Errorf("behind the ?: %q: write name=value, several with &", s)
	}
	for name, values := range given {
		file := map[string]*string{"ca": &a.CA, "cert": &a.Cert, "key": &a.Key}[name]
		switch v := values[0]; {
		case file != nil && a.TLS && filepath.IsAbs(v):
			*file = v
		case file != nil:
			return fmt.Errorf("%s=%s: write an absolute path, and kafka+tls:// for TLS", name, v)
		case name == "sasl" && v == "plain" && a.TLS && a.User != "":
			a.Plain = true
		case name == "sasl":
			return fmt.Errorf("sasl=%s: scram-sha-512 is the default; write sasl=plain for PLAIN, with user:password@ and kafka+tls://", v)
		default:
			return fmt.Errorf("unknown option %s: use ca, cert, key, sasl", name)
		}
	}
	if (a.Cert == "") != (a.Key == "") {
		return errors.New("cert and key: give both or none")
	}
	return nil
}

// String is the address without the password.
func (a Address) String() string {
	scheme, user := "kafka://", ""
	if a.TLS {
		scheme = "kafka+tls://"
	}
	if a.User != "" {
		user = a.User + "@"
	}
	return scheme + user + strings.Join(a.Brokers, ",") + "/" + a.Topic
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
