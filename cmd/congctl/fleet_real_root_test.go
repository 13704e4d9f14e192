package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/kafka"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestFleetThroughClickHouse: agent, Kafka, ingest, ClickHouse, controller, plan, kernel, all of them
// real, with batches that are signed, and ClickHouse away for a minute in the middle: each transfer is in the controller's store once.
func TestFleetThroughClickHouse(t *testing.T) {
	p := newPipeline(t)
	treated := client(0, 7)
	cfg := settingsOf(pipelineWindow)
	p.cfg.BatchWait = 200 * time.Millisecond
	central := cfg
	central.Lists = fmt.Sprintf(`, always: [%s satellite link], control: "off"`, prefixOf(t, treated))
	f := newFleetOf(t, central, fmt.Sprintf(", clickhouse: %q", p.cfg.ClickHouse))
	f.agentsMore = fmt.Sprintf(", kafka: %q", p.cfg.Kafka)
	p.cfg.AgentsCA = f.authority.Issue(mtls.Identity{Role: mtls.Viewer, Name: "x"}).CA
	p.start()
	p.forge()
	host := f.agent("edge-1", cfg)
	host.start()
	s := newServer(t)
	host.awaitStatus("the plan in force", inForce(1))
	ann := f.operator(mtls.Operator)
	counted := func() int { return f.conns(prefixOf(t, treated)) }
	beginWindow(pipelineWindow)
	for range 3 {
		s.visit(t, treated, "bbr")
	}
	eventually(t, "three transfers in the controller's store", wholeTime, func() bool { return counted() == 3 })
	p.server.Kill()
	for range outage / pipelineWindow {
		beginWindow(pipelineWindow)
		s.visit(t, treated, "bbr")
	}
	before := counted()
	eventually(t, "the controller says what is away", wholeTime, func() bool { return f.logHas("fleet.clickhouse") })
	p.server.Start()
	eventually(t, "what was sent meanwhile", wholeTime, func() bool { return counted() >= 9 })
	beginWindow(pipelineWindow)
	s.visit(t, treated, "bbr")
	eventually(t, "a tenth", wholeTime, func() bool { return counted() >= 10 })
	t.Logf("before: 3 transfers; while ClickHouse was away: %d; after: %d of 10", before, counted())
	if before != 3 || counted() != 10 {
		t.Errorf("%d transfers while ClickHouse was away, want 3; %d afterwards, want 10", before, counted())
	}
	if st := ann.fleetStatus(); len(st.Hosts) != 1 || !st.Hosts[0].Connected || st.Hosts[0].InForce != 1 {
		t.Errorf("%+v", st)
	}
	if n := len(p.conns("chi", forgedWindow())); n != 0 {
		t.Errorf("%d records of a batch that no agent signed", n)
	}
	host.stop()
	f.stop()
}

// forge sends a batch of an agent that did not sign it.
func (p *pipeline) forge() {
	h := wire.Header{PoP: "chi", Host: "edge-1", Boot: record.BootID{66}, Sequence: 1}
	producer, err := kafka.NewProducer(p.topic, "chi", nil)
	check(p.tb, err)
	defer producer.Close()
	check(p.tb, producer.Send(p.tb.Context(), batchOf(p.tb, h, forgedWindow(), 3)))
}

// forgedWindow is of yesterday, which the test does not reach.
func forgedWindow() int64 { return time.Now().Unix()/86400*86400 - 3600 }
