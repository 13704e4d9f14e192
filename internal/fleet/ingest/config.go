package ingest

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/loop/address"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/strict"
)

// Config is the configuration file; etc/ingest.yml has each key with its reason.
type Config struct {
	Kafka        string
	Group        string
	ClickHouse   string
	Retention    time.Duration
	BatchRecords int
	BatchWait    time.Duration
	AgentsCA     string           // a file; "off": each message in the topic is believed
	Revoked      []config.Revoked // certificates whose batches are refused
	Metrics      string           // address and port; "off"
	PProf        bool
}

// AnyAgent is the AgentsCA without which no signature is asked for.
const AnyAgent = "off"

// Default returns what holds where the file says nothing.
func Default() Config {
	return Config{
		Kafka: "kafka://127.0.0.1:9092/congctl.records", Group: "congctl-ingest", ClickHouse: "clickhouse://127.0.0.1:9000/congctl",
		Retention: 30 * 24 * time.Hour, BatchRecords: 100_000, BatchWait: 5 * time.Second, AgentsCA: AnyAgent,
		Metrics: "127.0.0.1:9479",
	}
}

// maxFile of a configuration.
const maxFile = 1 << 20

// Read reads and parses the file at name.
func Read(name string) (Config, error) {
	b, exposed, err := plainfile.ReadExposed(name, maxFile)
	if err != nil {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	c, err := parse(b, exposed)
	if err != nil {
		return c, fmt.Errorf("read configuration %s: %w", name, err)
	}
	return c, nil
}

var keys = []string{"kafka", "group", "clickhouse", "retention", "batch_records", "batch_wait", "agents_ca", "revoked", "metrics"}

// Parse reads one YAML document onto the defaults. The error is a [strict.Faults] with all that is
// wrong.
func Parse(b []byte) (Config, error) { return parse(b, nil) }

// parse also knows how others than the file's owner may read it, nil if they may not.
func parse(b []byte, exposed error) (Config, error) {
	c, r := Default(), &reader{}
	root, err := strict.Document(b)
	if err != nil {
		return Config{}, strict.Faults{strict.FaultOf(err)}
	}
	if !strict.Empty(root) {
		r.Each(root, "", func(name string, k, v *strict.Node) {
			switch name {
			case "kafka":
				readAddress(r, v, name, &c.Kafka, address.ParseKafka)
			case "group":
				r.text(v, name, &c.Group)
			case "clickhouse":
				readAddress(r, v, name, &c.ClickHouse, address.ParseClickHouse)
			case "retention":
				r.duration(v, name, &c.Retention, 24*time.Hour, 10*365*24*time.Hour)
			case "batch_records":
				r.number(v, name, &c.BatchRecords, 1, 1_000_000)
			case "batch_wait":
				r.duration(v, name, &c.BatchWait, 100*time.Millisecond, time.Minute)
			case "agents_ca":
				r.text(v, name, &c.AgentsCA)
			case "revoked":
				r.revoked(v, name, &c.Revoked)
			case "metrics":
				r.metrics(v, &c)
			default:
				r.Unknown(k, strict.PlainKey(k, v), keys)
			}
		})
	}
	if len(c.Revoked) > 0 && c.AgentsCA == AnyAgent {
		r.Faults.Add("revoked", "", "without agents_ca no signature is asked for", "set agents_ca, the fleet's authority")
	}
	config.Exposed(&r.Faults, exposed, config.Place{Key: "kafka", At: &c.Kafka}, config.Place{Key: "clickhouse", At: &c.ClickHouse})
	if err := r.Faults.Err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

type reader struct{ strict.Reader }

func (r *reader) metrics(n *strict.Node, c *Config) {
	r.Each(n, "metrics", func(name string, k, v *strict.Node) {
		field := "metrics." + name
		switch name {
		case "listen":
			r.text(v, field, &c.Metrics)
			if _, port, err := net.SplitHostPort(c.Metrics); c.Metrics != config.MetricsOff && (err != nil || port == "") {
				r.Fault(v, field, c.Metrics, "not an address with a port; write 127.0.0.1:9479, or off")
			}
		case "pprof":
			word := ""
			if r.text(v, field, &word); word != "true" && word != "false" {
				r.Fault(v, field, word, "not true or false; write one")
			}
			c.PProf = word == "true"
		default:
			r.Unknown(k, "metrics."+strict.PlainKey(k, v), []string{"listen", "pprof"})
		}
	})
}

func (r *reader) revoked(n *strict.Node, field string, to *[]config.Revoked) {
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		return
	}
	for _, v := range r.List(n, field) {
		var one config.Revoked
		if s, ok := r.Scalar(v, field); !ok {
			continue
		} else if err := one.UnmarshalText([]byte(s)); err != nil {
			r.Fault(v, field, s, err.Error())
		} else {
			*to = append(*to, one)
		}
	}
}

func (r *reader) text(n *strict.Node, field string, to *string) {
	if s, ok := r.Scalar(n, field); ok {
		*to = s
	}
}

// readAddress reads an address, or the name of a file with one. A fault has no part of it.
func readAddress[A any](r *reader, n *strict.Node, field string, to *string, parse func(string) (A, error)) {
	r.text(n, field, to)
	if err := config.CheckAddress(*to, parse); err != nil {
		r.Fault(n, field, "", err.Error())
	}
}

func (r *reader) duration(n *strict.Node, field string, to *time.Duration, least, most time.Duration) {
	s, ok := r.Scalar(n, field)
	if !ok {
		return
	}
	d, err := config.ParseDuration(s)
	if err != nil || d < least || d > most {
		r.Fault(n, field, s, fmt.Sprintf("not a duration from %s to %s; write a number and a unit, as in 5s or 30d", config.FormatDuration(least), config.FormatDuration(most)))
		return
	}
	*to = d
}

func (r *reader) number(n *strict.Node, field string, to *int, least, most int) {
	s, ok := r.Scalar(n, field)
	if !ok {
		return
	}
	v, err := strconv.Atoi(strings.ReplaceAll(s, "_", ""))
	if err != nil || v < least || v > most {
		r.Fault(n, field, s, fmt.Sprintf("not a whole number from %d to %d; write one", least, most))
		return
	}
	*to = v
}
