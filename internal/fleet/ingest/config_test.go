package ingest

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/config"
)

// TestShippedFileIsTheDefaults, with every key in it.
func TestShippedFileIsTheDefaults(t *testing.T) {
	b, err := os.ReadFile("../../../etc/ingest.yml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(b)
	if err != nil || !reflect.DeepEqual(c, Default()) {
		t.Errorf("%+v, %v; want %+v", c, err, Default())
	}
	for _, key := range keys {
		if !strings.Contains("\n"+string(b), "\n"+key+": ") {
			t.Errorf("etc/ingest.yml does not set %s", key)
		}
	}
	if n := reflect.TypeFor[Config]().NumField(); n != len(keys)+1 { // metrics has two
		t.Errorf("%d settings and %d keys", n, len(keys))
	}
}

func TestParse(t *testing.T) {
	c, err := Parse([]byte("kafka: kafka://a:1/t\ngroup: g\nclickhouse: clickhouse://b/c\nretention: 2d\nbatch_records: 2_000\nbatch_wait: 200ms\nagents_ca: /ca.pem\nrevoked: [congctl://agent/ams/edge-1, 0A:2b]\nmetrics: {listen: off, pprof: true}\n"))
	if want := (Config{"kafka://a:1/t", "g", "clickhouse://b/c", 48 * time.Hour, 2000, 200 * time.Millisecond, "/ca.pem", []config.Revoked{"congctl://agent/ams/edge-1", "a2b"}, "off", true}); err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
	for _, b := range []string{"", "# nothing\n"} {
		if c, err := Parse([]byte(b)); err != nil || !reflect.DeepEqual(c, Default()) {
			t.Errorf("%q: %+v, %v", b, c, err)
		}
	}
}

// TestParseTellsAllFaults at once, each with its line.
func TestParseTellsAllFaults(t *testing.T) {
	_, err := Parse([]byte("retention: 1h\nbatch_records: many\nbatch_wait: 2m\ntopic: x\ngroup:\nmetrics: {listen: here, pprof: yes, port: 1}\nrevoked: [eve]\n"))
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{"line 1: retention", "line 2: batch_records", "line 3: batch_wait", "line 4: topic: unknown key", "line 5: group", "line 6: metrics.listen", "line 6: metrics.pprof", "line 6: metrics.port: unknown key", "line 7: revoked"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	if c, err := Parse([]byte("revoked: [congctl://agent/ams/edge-1]")); err == nil || !strings.Contains(err.Error(), "set agents_ca") {
		t.Errorf("%+v, %v", c, err)
	}
	for _, b := range []string{"a: b: c", "- a", "kafka: a\n---\nkafka: b\n"} {
		if c, err := Parse([]byte(b)); err == nil {
			t.Errorf("%q is %+v", b, c)
		}
	}
}
