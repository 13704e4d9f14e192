package address

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseKafka(t *testing.T) {
	for s, want := range map[string]Kafka{
		"kafka://a:9092,[::1]:9093/congctl.records":    {Brokers: []string{"a:9092", "[::1]:9093"}, Topic: "congctl.records"},
		"kafka+tls://a:9093/t":                         {Brokers: []string{"a:9093"}, Topic: "t", TLS: true},
		"kafka://u:p%40%3A@a:9092,b:9092/t":            {Brokers: []string{"a:9092", "b:9092"}, Topic: "t", User: "u", Password: "p@:"},
		"kafka://u:p@q@a:9092/t":                       {Brokers: []string{"a:9092"}, Topic: "t", User: "u", Password: "p@q"},
		"kafka://u:p:q@a:9092/t":                       {Brokers: []string{"a:9092"}, Topic: "t", User: "u", Password: "p:q"},
		"kafka+tls://u:p@a:9093/t?sasl=plain&ca=/c":    {Brokers: []string{"a:9093"}, Topic: "t", TLS: true, CA: "/c", User: "u", Password: "p", Plain: true},
		"kafka+tls://a:9093/t?cert=/c.pem&key=/k%20.p": {Brokers: []string{"a:9093"}, Topic: "t", TLS: true, Cert: "/c.pem", Key: "/k .p"},
	} {
		k, err := ParseKafka(s)
		if d := cmp.Diff(want, k); err != nil || d != "" {
			t.Errorf("%s: %v %s", s, err, d)
		}
	}
	for s, want := range map[string]string{
		"": "begins neither", "a:9092/t": "begins neither", "kafkas://u:p@a:9093/t": "begins neither",
		"kafka://a:9092": "topic:", "kafka://a:9092/": "topic:", "kafka://a:9092/../t": "topic:", "kafka://a:9092/..": "topic:", "kafka://a:9092/bad topic": "topic:",
		"kafka://a/t": "broker:", "kafka://a:9092,/t": "broker:", "kafka://a:99999/t": "broker:", "kafka://a:0/t": "broker:",
		"kafka://a:9092/t?x=1": "unknown option", "kafka://u@a:9092/t": "write user:password", "kafka+tls://%zz:p@a:9092/t": "write user:password",
		"kafka://u:p@a:9092/t?sasl=plain": "kafka+tls://", "kafka://a:9092/t?ca=/c": "kafka+tls:// for TLS", "kafka+tls://a:9092/t?ca=c": "absolute path",
		"kafka+tls://a:9092/t?cert=/c": "give both", "kafka+tls://a:9092/t?sasl=gssapi": "scram-sha-512 is the default",
		"kafka+tls://u:a/b@h:9093/t": "%2F for /", "kafka+tls://u:a?b@h:9093/t": "%3F for ?", "kafka+tls://u:a#b@h:9093/t": "%23 for #",
	} {
		if k, err := ParseKafka(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", s, k, err, want)
		}
	}
}

func TestParseClickHouse(t *testing.T) {
	for s, want := range map[string]ClickHouse{
		"clickhouse://h":                              {Hosts: []string{"h:9000"}, Database: "congctl"},
		"clickhouse://h/d?secure=true":                {Hosts: []string{"h:9440"}, Database: "d", TLS: true},
		"clickhouse://u@h:1,[::1]/d":                  {Hosts: []string{"h:1", "[::1]:9000"}, Database: "d", User: "u"},
		"clickhouse://u:%2F%3f@h/?secure&skip_verify": {Hosts: []string{"h:9440"}, Database: "congctl", TLS: true, SkipVerify: true, User: "u", Password: "/?"},
	} {
		c, err := ParseClickHouse(s)
		if d := cmp.Diff(want, c); err != nil || d != "" {
			t.Errorf("%s: %v %s", s, err, d)
		}
	}
	for s, want := range map[string]string{
		"tcp://u:p@h:9000/d": "begin with clickhouse://", "clickhouse+tls://u:p@h/d": "begin with clickhouse://", "https://u:p@h/d": "begin with clickhouse://",
		"clickhouse://h/bad-db": "database:", "clickhouse://h/a/b": "database:", "clickhouse://": "host:", "clickhouse://h:port/a": "host:", "clickhouse://h\x7f/": "host:",
		"clickhouse://h/d?password=x": "unknown option", "clickhouse://h/d?secure=perhaps": "true or false", "clickhouse://u:a/b@h/d": "%2F for /", "clickhouse://u:%zz@h/d": "%25 for %",
	} {
		if c, err := ParseClickHouse(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", s, c, err, want)
		}
	}
}

func TestCheckController(t *testing.T) {
	for s, ok := range map[string]bool{"https://c.example.net:9477": true, "https://c": true, "https://[::1]:9477/": true,
		"http://c": false, "https://": false, "https://:9477": false, "https://u:p@c:1": false, "https://c/x": false, "https://c?token=x": false,
		"https://c#x": false, "https://c?": false, "https://c:99999": false, "c:9477": false, "": false, "https://u:a/b@c": false} {
		if err := CheckController(s); (err == nil) != ok {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestFile(t *testing.T) {
	for value, want := range map[string]string{"file:/a/b": "/a/b", "file:kafka": "kafka", "file:": "", "file:../x": "", "file:a/b": "", "file:.": "", "file:kafka://u:p@h:1/t": ""} {
		if name, is, err := File(value); !is || (err == nil) != (want != "") || err == nil && name != want {
			t.Errorf("%s: %q, %t, %v", value, name, is, err)
		}
	}
	if _, is, err := File("kafka://a:1/t"); is || err != nil {
		t.Error(is, err)
	}
}

// marker is in each piece of the secrets of these tests.
const marker = "Zq7"

// secretForms are addresses whose parts may each be, by a slip, a piece of a secret.
func secretForms(secret string) (list []string) {
	for _, scheme := range []string{"kafka", "kafka+tls", "kafkas", "kafka+ssl", "clickhouse", "clickhouse+tls", "https", "http", "tcp", "sb", "", "kafka:", "file:"} {
		for _, form := range []string{"%s://svc:%s@h:9093/t", "%s://%s@h:9093/t", "%s://%s:x@h:9093/t", "%s://svc:%s@h/t", "%s://svc:%s@h:9093", "%s://svc:%s@h:port/t",
			"%s://svc:%s@h:9093/bad topic", "%s://svc:%s@h:9093/bad-db", "%s://svc:%s@h:9093/t?ca=x", "%s://svc:%s@h:9093/t?sasl=x&x=%%", "%s://svc:%s", "%s//svc:%s@h:9093/t",
			"%s:svc:%s@h:9093/t", "%s://svc:%s@h:9093/t?secure=x", "%s://h:9093/t?password=%s", "%s://h:9093/%[2]s@t", "%s:/%s"} {
			list = append(list, fmt.Sprintf(form, scheme, secret))
		}
	}
	return list
}

var secretTexts = []string{marker, "Zq7/Zq7?Zq7=Zq7", "Zq7#Zq7", "Zq7@Zq7", "Zq7:Zq7", "Zq7,Zq7", "%Zq7", "Zq7%2", "Zq7 Zq7", "Zq7\x00Zq7", "[Zq7", "Zq7]:1", "Zq7&ca=Zq7", "Zq7?Zq7=%zz",
	"Endpoint=sb://Zq7.servicebus.windows.net/;SharedAccessKeyName=Zq7;SharedAccessKey=Zq7/+Zq7=;EntityPath=Zq7"}

// silent fails where an error has any part of a secret, and the form that a person sees, of its user and password.
func silent(t *testing.T, s string) {
	t.Helper()
	k, err1 := ParseKafka(s)
	c, err2 := ParseClickHouse(s)
	_, _, err4 := File(s)
	for _, err := range []error{err1, err2, CheckController(s), err4} {
		if err != nil && strings.Contains(err.Error(), marker) {
			t.Errorf("%q: %v", s, err)
		}
	}
	// What is a topic, a host or a file by its form is one: only a login is a secret then.
	if shown := k.String(); err1 == nil && strings.Contains(k.User+k.Password, marker) && strings.Contains(shown, marker) && !strings.Contains(strings.Join(k.Brokers, "")+k.Topic+k.CA+k.Cert+k.Key, marker) {
		t.Errorf("%q is shown as %s", s, shown)
	}
	if shown := c.String(); err2 == nil && strings.Contains(c.User+c.Password, marker) && strings.Contains(shown, marker) && !strings.Contains(strings.Join(c.Hosts, "")+c.Database, marker) {
		t.Errorf("%q is shown as %s", s, shown)
	}
}

func TestErrorsHaveNoSecret(t *testing.T) {
	for _, secret := range secretTexts {
		for _, s := range secretForms(secret) {
			silent(t, s)
		}
	}
}

func FuzzErrorsHaveNoSecret(f *testing.F) {
	for _, secret := range secretTexts {
		for _, s := range secretForms(secret)[:40] {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		silent(t, s)
		if k, err := ParseKafka(s); err == nil && k.User == "" { // what a person sees of one without a login is the address again
			if again, err := ParseKafka(k.String()); err != nil || again.String() != k.String() {
				t.Errorf("%q is shown as %s, which is %+v, %v", s, k, again, err)
			}
		}
	})
}

func TestShown(t *testing.T) {
	for s, want := range map[string]string{
		"kafka://a:1,b:2/t": "kafka://a:1,b:2/t", "kafka+tls://u:p@a:1/t?sasl=plain&ca=/c/d": "kafka+tls://***@a:1/t?ca=/c/d&sasl=plain",
	} {
		if k, err := ParseKafka(s); err != nil || k.String() != want {
			t.Errorf("%s: %s, %v", s, k, err)
		}
	}
	if c, err := ParseClickHouse("clickhouse://u:p@h/d?skip_verify&secure"); err != nil || c.String() != "clickhouse://***@h:9440/d?secure=true&skip_verify=true" {
		t.Errorf("%s, %v", c, err)
	}
}
