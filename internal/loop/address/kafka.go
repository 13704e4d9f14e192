package address

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Kafka is a topic of a cluster, and how to get in.
type Kafka struct {
	Brokers []string // host:port
	Topic   string

	TLS            bool
	CA, Cert, Key  string // PEM files; "": the system's authorities, no certificate of our own
	User, Password string // "": no SASL
	Plain          bool   // SASL PLAIN in place of SCRAM-SHA-512
}

// plainTopic is Kafka's own rule, with room for the other topics.
var plainTopic = regexp.MustCompile(`^[A-Za-z0-9._-]{1,230}$`)

// ParseKafka reads kafka://host:9092,host:9092/topic, or with TLS and SASL
// kafka+tls://user:password@host:9093/topic?ca=/etc/kafka/ca.pem.
func ParseKafka(s string) (Kafka, error) {
	k, err := parseKafka(s)
	if err != nil {
		return Kafka{}, fmt.Errorf("read Kafka's address: %w", err)
	}
	return k, nil
}

func parseKafka(s string) (k Kafka, err error) {
	scheme, rest, _ := strings.Cut(s, "://")
	if scheme != "kafka" && scheme != "kafka+tls" {
		return k, errors.New("it begins neither with kafka:// nor with kafka+tls://: write kafka://host:9092/topic or kafka+tls://user:password@host:9093/topic")
	}
	p, err := cut(rest)
	if err == nil && p.user != "" && !p.word {
		err = errEscape
	}
	if err != nil {
		return k, err
	}
	k = Kafka{Brokers: p.hosts, Topic: p.name, TLS: scheme == "kafka+tls", User: p.user, Password: p.password}
	for _, b := range p.hosts {
		if port, ok := host(b); !ok || !port {
			return k, errors.New("broker: write host:port, several with commas; in a password %2F for /, %3F for ?")
		}
	}
	if !plainTopic.MatchString(k.Topic) || k.Topic == "." || k.Topic == ".." {
		return k, errors.New(`topic: write kafka://host:9092/topic, with letters, digits, ".", "_" and "-", at most 230`)
	}
	return k, k.take(p.options)
}

// take reads what stands behind the "?".
func (k *Kafka) take(options url.Values) error {
	for name, values := range options {
		file := map[string]*string{"ca": &k.CA, "cert": &k.Cert, "key": &k.Key}[name]
		switch v := values[0]; {
		case file != nil && k.TLS && path.IsAbs(v):
			*file = v
		case file != nil:
			return fmt.Errorf("option %s: write an absolute path, and kafka+tls:// for TLS", name)
		case name == "sasl" && v == "plain" && k.TLS && k.User != "":
			k.Plain = true
		case name == "sasl":
			return errors.New("option sasl: scram-sha-512 is the default; write sasl=plain for PLAIN, with user:password@ and kafka+tls://")
		default:
			return errors.New("unknown option: use ca, cert, key, sasl")
		}
	}
	if (k.Cert == "") != (k.Key == "") {
		return errors.New("options cert and key: give both or none")
	}
	return nil
}

// String is the address without user and password.
func (k Kafka) String() string {
	scheme, options := "kafka", url.Values{}
	if k.TLS {
		scheme = "kafka+tls"
	}
	for name, v := range map[string]string{"ca": k.CA, "cert": k.Cert, "key": k.Key} {
		if v != "" {
			options.Set(name, v)
		}
	}
	if k.Plain {
		options.Set("sasl", "plain")
	}
	return shown(scheme, k.User, k.Brokers, k.Topic, strings.ReplaceAll(options.Encode(), "%2F", "/"))
}
