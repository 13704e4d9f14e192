package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// marker is in each piece of the secrets of these tests.
const marker = "Zq7"

// leaky are addresses in which a secret is where it should be, or a slip away from there.
var leaky = []string{
	"kafkas://svc:Zq7@b1:9093/t", "kafka+tls://svc:Zq7/Zq7?Zq7@h:9093/t", "kafka+tls://svc:Zq7@h:9093/bad topic", "kafka+tls://svc:Zq7@h/t", "kafka+tls://svc:Zq7@h:9093/t?ca=x", "kafka+tls://Zq7@h:9093/t",
	"kafka+tls://$ConnectionString:Endpoint=sb://Zq7.servicebus.windows.net/;SharedAccessKeyName=Zq7;SharedAccessKey=Zq7/+Zq7=@h:9093/t?sasl=plain",
	"clickhouse+tls://svc:Zq7@h/d", "clickhouse://svc:Zq7@h:9000/bad-db", "clickhouse://svc:Zq7/Zq7@h:9000/d", "clickhouse://svc:Zq7@h:port/d", "clickhouse://h/d?password=Zq7", "clickhouse://svc:%Zq7@h/d",
	"https://svc:Zq7@h", "https://svc:Zq7@h:1/x", "https://svc:%Zq7@h", "tcp://svc:Zq7@h:9000/d", "svc:Zq7@h", "Zq7@h",
}

// ran runs a verb and fails where it says a secret.
func ran(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if got := run(args, &out, &out); got != code || strings.Contains(out.String(), marker) {
		t.Errorf("%q: exit code %d, want %d:\n%s", args, got, code, out.String())
	}
	return out.String()
}

// TestNoVerbSaysASecret that is in an address of its configuration or its command line.
func TestNoVerbSaysASecret(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "c.yml")
	for _, a := range leaky {
		for key, verbs := range map[string][][]string{
			"kafka":      {{"ingest"}},
			"clickhouse": {{"ingest"}},
			"fleet":      {{"config", "check"}, {"config", "check", "-o", "json"}, {"config", "show"}, {"up"}, {"agent"}, {"controller"}, {"prefixes"}, {"token", "list"}, {"stop"}},
		} {
			texts := []string{fmt.Sprintf("%s: %q\n", key, a), fmt.Sprintf("%s:%s\n", key, a)}
			if key == "fleet" {
				texts = nil
				for _, name := range []string{"kafka", "clickhouse", "controller", "token_file"} {
					texts = append(texts, fmt.Sprintf("socket: %s/none\nstate_dir: %[1]s\nfleet: {%s: %q}\n", filepath.Dir(conf), name, a))
				}
			}
			for _, text := range texts {
				check(t, os.WriteFile(conf, []byte(text), 0o600))
				for _, verb := range verbs {
					code := exitUsage
					if verb[0] == "stop" { // it goes on with a configuration that has faults
						code = exitFailed
					}
					ran(t, code, append(verb, "-c", conf)...)
				}
			}
		}
		for _, args := range [][]string{{"store", "init", a}, {"store", "check", a}, {"store", "migrate", a}, {"store", a}, {a}, {"store", "check", "x", a}, {"status", a},
			{"status", "--pop", "chi", "--controller", a}, {"status", "--controller=" + a}, {"status", "--timeout", a}, {"status", "--" + a}, {"store", "init", "kafka://h:1/t", "--partitions", a}} {
			ran(t, exitUsage, args...)
		}
		file := filepath.Join(t.TempDir(), "address")
		check(t, os.WriteFile(file, []byte(a+"\n"), 0o600))
		ran(t, exitUsage, "store", "check", "--address-file", file)
	}
}

// TestPasswordsOutOfSight: where a password may stand, and what is said where it may not.
func TestPasswordsOutOfSight(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // nothing answers there
	check(t, err)
	check(t, l.Close())
	dir := t.TempDir()
	file, conf := filepath.Join(dir, "address"), filepath.Join(dir, "c.yml")
	for _, a := range []string{"clickhouse://svc:Zq7@" + l.Addr().String() + "/d", "kafka://svc:Zq7@" + l.Addr().String() + "/t"} {
		check(t, os.WriteFile(file, []byte(a), 0o600))
		if out := ran(t, exitUsage, "store", "check", a); !strings.Contains(out, "--address-file FILE") {
			t.Error(out)
		}
		if strings.HasPrefix(a, clickhouseScheme) { // the client of Kafka waits for long
			ran(t, exitFailed, "store", "check", "--address-file", file)
		}
		check(t, os.Chmod(file, 0o644))
		if out := ran(t, exitUsage, "store", "check", "--address-file", file); !strings.Contains(out, "chmod 600 "+file) {
			t.Error(out)
		}
		check(t, os.Remove(file))
	}
	ran(t, exitUsage, "store", "check")
	ran(t, exitUsage, "store", "check", "kafka://h:1/t", "--address-file", file)

	check(t, os.WriteFile(conf, []byte("fleet: {kafka: \"kafka+tls://svc:Zq7@h:9093/t\"}\n"), 0o600))
	for _, format := range []string{"table", "json"} {
		if out := ran(t, exitOK, "config", "show", "-c", conf, "-o", format); !strings.Contains(out, "kafka+tls://***@h:9093/t") {
			t.Error(out)
		}
	}
	check(t, os.Chmod(conf, 0o644))
	if out := ran(t, exitUsage, "config", "check", "-c", conf); !strings.Contains(out, "chmod 600 "+conf) {
		t.Error(out)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	check(t, os.WriteFile(conf, []byte("fleet: {kafka: file:kafka}\n"), 0o600))
	if out := ran(t, exitOK, "config", "check", "-c", conf); !strings.Contains(out, "LoadCredential=kafka:") {
		t.Error(out)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	ran(t, exitUsage, "config", "check", "-c", conf)
	check(t, os.WriteFile(filepath.Join(dir, "kafka"), []byte("kafka+tls://svc:Zq7@h:9093/bad topic"), 0o600))
	if out := ran(t, exitUsage, "config", "check", "-c", conf); !strings.Contains(out, "fleet.kafka: read Kafka's address: topic") {
		t.Error(out)
	}
}

// TestNoSecretAfterSIGHUP in log, events or status, whether the new configuration is taken or refused.
func TestNoSecretAfterSIGHUP(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "c.yml")
	write := func(fleet string) {
		check(t, os.WriteFile(conf, []byte("pop: edge1\nstate_dir: "+dir+"\n"+fleet+"\n"), 0o600))
	}
	write("")
	u := reloadable(t, conf)
	var log bytes.Buffer
	u.log = slog.New(slog.NewTextHandler(&log, nil))
	for _, a := range append(leaky, "kafka+tls://svc:Zq7@h:9093/t", "clickhouse://svc:Zq7@h/d") {
		for _, key := range []string{"kafka", "clickhouse", "controller"} {
			write(fmt.Sprintf("fleet: {%s: %q}", key, a))
			if err := u.reload(t.Context()); err == nil || strings.Contains(err.Error(), marker) {
				t.Errorf("%s: %v", a, err)
			}
			if s := fmt.Sprintf("%+v", u.agent.Status()); strings.Contains(s, marker) {
				t.Errorf("%s: status %s", a, s)
			}
		}
	}
	events, err := u.store.Events(t.Context(), 0, 0)
	check(t, err)
	if s := fmt.Sprintf("%+v", events); len(events) < len(leaky) || strings.Contains(s+log.String(), marker) {
		t.Errorf("%d events:\n%s\n%s", len(events), s, log.String())
	}
}
