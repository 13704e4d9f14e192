package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/kafka"
	"github.com/congctl/congctl/internal/fleet/uplink"
)

// outage is how long a broker or ClickHouse is away.
const outage = time.Minute

// TestBrokerKilled on real servers: kill -9 of the broker under an agent's uplink, for a minute. Its spool keeps what comes
// meanwhile, and each record is in ClickHouse once.
func TestBrokerKilled(t *testing.T) {
	p := newPipeline(t)
	p.cfg.BatchWait = 200 * time.Millisecond
	producer, err := kafka.NewProducer(p.topic, "fra", nil)
	check(t, err)
	defer producer.Close()
	spool := spoolOf(t, filepath.Join(t.TempDir(), "spool"))
	u := uplinkOf(uplink.Options{FirstSequence: 1, SendTimeout: 2 * time.Second}, spool, producer)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- u.Run(ctx) }()
	window, next := time.Now().Unix()/300*300-300, uint64(0) // older ones are dropped by their retention
	record := func(n int) {
		for range n {
			next++
			c := uplinkConn(next)
			c.Window = window
			u.Record(c)
		}
	}
	record(3500)
	eventually(t, "a first batch in Kafka", wholeTime, func() bool { return u.Status().SentBatches > 0 })
	p.start() // now each of the broker's threads knows the topics
	t.Logf("before: %d of 3500 records", p.until([]string{"fra"}, window, 3500))
	record(2000)
	p.broker.Kill() // with batches on the way
	for range 10 {
		record(500)
		time.Sleep(outage / 10)
	}
	s := u.Status()
	t.Logf("the broker is dead: %d batches wait, %d were sent again", s.WaitingBatches, s.ResentBatches)
	if s.WaitingBatches == 0 {
		t.Error("nothing waits while the broker is dead")
	}
	p.broker.Start()
	record(500)
	u.EndWindow(uplink.WindowEnd{Start: window})
	want := 3500 + 2000 + 5000 + 500
	t.Logf("after: %d of %d records", p.until([]string{"fra"}, window, want), want)
	time.Sleep(2 * time.Second) // what would come twice
	seen := map[string]int{}
	for _, c := range p.conns("fra", window) {
		seen[fmt.Sprint(c.Cookie)]++
	}
	for i := range next {
		if n := seen[fmt.Sprint(i+1)]; n != 1 {
			t.Fatalf("record %d came %d times", i+1, n)
		}
	}
	if s := u.Status(); s.LostRecords+s.DroppedRecords+s.RefusedBatches > 0 || len(seen) != want {
		t.Errorf("%d records, %+v", len(seen), s)
	}
	stop()
	check(t, errors.Join(<-done, spool.Close()))
}
