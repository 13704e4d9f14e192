package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/congctl/congctl/internal/fleet/ingest"
	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse/clickhousetest"
	"github.com/congctl/congctl/internal/fleet/store/kafka"
	"github.com/congctl/congctl/internal/fleet/store/kafka/kafkatest"
	"github.com/congctl/congctl/internal/metrics/listener"
	"github.com/congctl/congctl/internal/tcp/record"
)

// pipeline is a real Kafka and a real ClickHouse with what `congctl store init` makes.
type pipeline struct {
	tb     testing.TB
	broker *kafkatest.Server
	server *clickhousetest.Server
	cfg    ingest.Config
	topic  kafka.Address
	store  *clickhouse.Store
}

// wholeTime bounds the test's longest wait, on a machine that has other work.
const wholeTime = 2 * time.Minute

// loopbackUp: root's tests have a network namespace of their own.
func loopbackUp(tb testing.TB) {
	tb.Helper()
	if os.Getenv(cgroupEnv) != "" {
		lo, err := netlink.LinkByName("lo")
		check(tb, err)
		check(tb, netlink.LinkSetUp(lo))
	}
}

func newPipeline(tb testing.TB) *pipeline {
	tb.Helper()
	return newPipelineAt(tb, "127.0.0.1")
}

// newPipelineAt has Kafka at an address that agents in other namespaces reach.
func newPipelineAt(tb testing.TB, host string) *pipeline {
	tb.Helper()
	loopbackUp(tb)
	p := &pipeline{tb: tb, broker: kafkatest.StartAt(tb, host), server: clickhousetest.Start(tb), cfg: ingest.Default()}
	p.cfg.Metrics = listener.Off
	p.cfg.Kafka, p.cfg.ClickHouse = "kafka://"+p.broker.Broker()+"/congctl.records", p.server.Address()
	for _, address := range []string{p.cfg.ClickHouse, p.cfg.Kafka} {
		var out, errs bytes.Buffer
		for end := time.Now().Add(wholeTime); run([]string{"store", "init", address, "--partitions", "4"}, &out, &errs) != exitOK; errs.Reset() {
			if time.Now().After(end) { // a broker listens before it can make topics
				tb.Fatal(errs.String())
			}
		}
	}
	var err error
	p.topic, err = kafka.ParseAddress(p.cfg.Kafka)
	check(tb, err)
	p.store, err = clickhouse.Open(tb.Context(), p.cfg.ClickHouse)
	check(tb, err)
	tb.Cleanup(func() { _ = p.store.Close() }) // the server may be gone
	return p
}

// send sends batches of one PoP as its agents do.
func (p *pipeline) send(pop string, batches []batchtest.Batch) {
	producer, err := kafka.NewProducer(p.topic, pop, nil)
	check(p.tb, err)
	defer producer.Close()
	for _, b := range batches {
		check(p.tb, producer.Send(p.tb.Context(), append(binary.AppendUvarint(nil, uint64(len(b.Body))), b.Body...)))
	}
}

// start starts `congctl ingest` as a process of its own.
func (p *pipeline) start() *exec.Cmd {
	p.tb.Helper()
	self, err := os.Executable()
	check(p.tb, err)
	file := filepath.Join(p.tb.TempDir(), "ingest.yml")
	check(p.tb, os.WriteFile(file, fmt.Appendf(nil, "kafka: %s\nclickhouse: %s\nbatch_records: %d\nbatch_wait: %s\nagents_ca: %s\nmetrics: {listen: %q}\n",
		p.cfg.Kafka, p.cfg.ClickHouse, p.cfg.BatchRecords, p.cfg.BatchWait, p.cfg.AgentsCA, p.cfg.Metrics), 0o600))
	cmd := exec.Command(self, "ingest", "-c", file)
	cmd.Env = append(os.Environ(), asEnv+"=program")
	cmd.Stderr = p.tb.Output()
	check(p.tb, cmd.Start())
	p.tb.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func (p *pipeline) conns(pop string, window int64) (conns []record.Conn) {
	if err := p.store.Conns(p.tb.Context(), pop, window, func(_ string, c *record.Conn) error {
		conns = append(conns, *c)
		return nil
	}); err != nil {
		return nil // it is away
	}
	return conns
}

func (p *pipeline) shelf() shelf { return shelf{p.store.NewWriter(p.cfg.Retention), p.store} }

// until waits for so many records of a window.
func (p *pipeline) until(pops []string, window int64, n int) (have int) {
	p.tb.Helper()
	for end := time.Now().Add(wholeTime); ; time.Sleep(100 * time.Millisecond) {
		have = 0
		for _, pop := range pops {
			have += len(p.conns(pop, window))
		}
		if have >= n {
			return have
		}
		if time.Now().After(end) {
			p.tb.Fatalf("%d of %d records came", have, n)
		}
	}
}

// halfway is a source whose reader dies between insert and commit.
type halfway struct{ *kafka.Consumer }

func (halfway) Mark() func(context.Context) error {
	return func(context.Context) error { return errors.New("killed") }
}

// dieHalfway runs an ingest that inserts and never commits.
func (p *pipeline) dieHalfway(pops []string, window int64) int {
	source, err := kafka.NewConsumer(p.topic, p.cfg.Group, nil)
	check(p.tb, err)
	defer source.Close()
	ctx, end := context.WithCancel(p.tb.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		ingest.New(p.cfg, halfway{source}, p.shelf(), p.shelf(), log).Run(ctx)
	}()
	have := p.until(pops, window, 1)
	end()
	<-ended
	return have
}

// TestIngestLosesNothing on real servers: an ingest dies between insert and commit, the next by
// kill -9, ClickHouse is away for seconds, a tenth of the batches comes twice and all in
// another order, and some messages are none. Each record is there once, as it was sent.
func TestIngestLosesNothing(t *testing.T) {
	p := newPipeline(t)
	p.cfg.BatchRecords, p.cfg.BatchWait = 4000, 200*time.Millisecond
	rng := rand.New(rand.NewPCG(1, 2))
	window := time.Now().Unix()/300*300 - 300
	pops := []string{"fra", "chi"}
	sent, records := map[string][]batchtest.Batch{}, 0
	for _, pop := range pops {
		sent[pop] = batchtest.Clients(t, rng, pop, window, 3, 40, 200)
		records += 3 * 40 * 200
	}
	halves := func(from, to int) {
		for _, pop := range pops {
			part := slices.Clone(sent[pop][from:to])
			part = append(part, sent[pop][from:from+(to-from)/10]...)
			rng.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
			p.send(pop, append(part, batchtest.Batch{Body: []byte("no batch")}))
		}
	}
	t.Logf("before: %d of %d records", len(p.conns("fra", window)), records)
	halves(0, 60)
	t.Logf("an ingest died between insert and commit: %d records inserted, none committed", p.dieHalfway(pops, window))
	child := p.start()
	t.Logf("the next is killed with -9 at %d records", p.until(pops, window, records/4))
	check(t, child.Process.Kill())
	p.start()
	halves(60, 120)
	t.Logf("ClickHouse is killed at %d records", p.until(pops, window, records/2))
	p.server.Kill()
	time.Sleep(3 * time.Second)
	p.server.Start()
	have := p.until(pops, window, records)
	t.Logf("after: %d of %d records", have, records)
	for _, pop := range pops {
		var want []record.Conn
		for _, b := range sent[pop] { // in the order of their names
			want = append(want, b.Conns...)
		}
		if d := cmp.Diff(want, p.conns(pop, window), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); d != "" {
			t.Errorf("%s (-want +got):\n%.2000s", pop, d)
		}
	}
}
