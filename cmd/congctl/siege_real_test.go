package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// siegeWindow is long enough that a busy machine keeps half of it.
const siegeWindow = 10 * time.Second

// siegeTime is how long TestSiege takes: a minute, or CONGCTL_SIEGE. A fifth of it is quiet.
func siegeTime(t *testing.T) time.Duration {
	text := os.Getenv("CONGCTL_SIEGE")
	if text == "" {
		return time.Minute
	}
	d, err := time.ParseDuration(text)
	check(t, err)
	return max(d, time.Minute)
}

// TestSiege: a hostile agent, a hostile client of Kafka, a local user and a stranger at once, beside two honest hosts that push to a
// controller and one whose records go through Kafka. Every window has its round with every honest record in it, every honest
// message is in ClickHouse, and nothing hostile is. How long an honest push takes, before and beside them, is in the test's log.
func TestSiege(t *testing.T) {
	length := siegeTime(t)
	p := newPipeline(t)
	p.cfg.BatchWait = 200 * time.Millisecond
	p.start()
	cfg := settingsOf(siegeWindow)
	cfg.Metrics = freePort(t)
	f := newFleetOf(t, cfg, "")
	s := &allAtOnce{fleet: f, t: t, pipe: p, sent: map[int64]int{}}
	beginWindow(siegeWindow)
	ctx, stop := context.WithCancel(t.Context())
	for i := range 2 {
		h := f.puppet(fmt.Sprint("edge-", i+1))
		s.run(ctx, func(ctx context.Context) { s.honest(ctx, h, byte(i+1)) })
	}
	s.run(ctx, s.throughKafka)
	for cycle := min(length, siegeCycle); length >= cycle; length -= cycle {
		s.phase.Store(quiet)
		time.Sleep(cycle / 5)
		s.phase.Store(besieged)
		s.besiege(ctx, cycle*4/5)
	}
	stop()
	s.all.Wait()
	s.judge()
}

// siegeCycle is a quiet part and one beside the enemies, four times as long: with other work on the machine both have it.
const siegeCycle = 5 * time.Minute

// The phases of a cycle. What the enemies leave behind is awaited before the next quiet part, and counts for neither.
const (
	quiet = iota
	besieged
	settling
)

// besiege runs all enemies at once.
func (s *allAtOnce) besiege(ctx context.Context, length time.Duration) {
	ctx, stop := context.WithTimeout(ctx, length)
	defer stop()
	var enemies sync.WaitGroup
	for _, enemy := range []func(context.Context){s.hostileAgent, s.hostileClient, s.localUser, s.stranger} {
		enemies.Go(func() { enemy(ctx) })
	}
	<-ctx.Done()
	s.phase.Store(settling)
	enemies.Wait()
}

// allAtOnce is what the parts of the test share.
type allAtOnce struct {
	*fleet
	t     *testing.T
	pipe  *pipeline
	phase atomic.Int32
	tries atomic.Int64 // of the enemies

	all  sync.WaitGroup
	mu   sync.Mutex    // guards all below
	sent map[int64]int // honest records, by window
	took [2][]time.Duration
	kept int   // honest records through Kafka,
	day  int64 // all of this window
}

func (s *allAtOnce) run(ctx context.Context, part func(context.Context)) {
	s.all.Go(func() { part(ctx) })
}

// every calls do until ctx ends, with a pause after each.
func every(ctx context.Context, pause time.Duration, do func()) {
	for ctx.Err() == nil {
		do()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// honest pushes a few records five times a second, and says at each window's end that it is whole.
func (s *allAtOnce) honest(ctx context.Context, h *puppet, boot byte) {
	const each = 5
	head := wire.Header{PoP: "chi", Host: h.name, Boot: record.BootID{boot}}
	window := int64(0)
	push := func(start int64, n int, ends ...wire.WindowEnd) {
		head.Sequence++
		head.Ends = ends
		frame := batchOf(s.t, head, start, n)
		began, phase := time.Now(), s.phase.Load()
		if err := h.c.Send(context.WithoutCancel(ctx), frame); err != nil {
			s.t.Errorf("an honest push of %s: %v", h.name, err)
			return
		}
		s.pushed(start, n, phase, time.Since(began))
	}
	every(ctx, 200*time.Millisecond, func() {
		now := time.Now().Unix() / int64(siegeWindow/time.Second) * int64(siegeWindow/time.Second)
		if window != 0 && now != window {
			push(now, each, wire.WindowEnd{Start: window, DefaultCongs: []string{"cubic"}})
		} else {
			push(now, each)
		}
		window = now
	})
	time.Sleep(time.Until(time.Unix(window, 0).Add(siegeWindow + 300*time.Millisecond)))
	push(window, 0, wire.WindowEnd{Start: window, DefaultCongs: []string{"cubic"}})
}

func (s *allAtOnce) pushed(window int64, n int, phase int32, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent[window] += n
	if int(phase) < len(s.took) {
		s.took[phase] = append(s.took[phase], took)
	}
}

// throughKafka sends a message a second, of one window.
func (s *allAtOnce) throughKafka(ctx context.Context) {
	s.day = time.Now().Unix() / 300 * 300
	rng := rand.New(rand.NewPCG(1, 2))
	h := wire.Header{Boot: record.BootID{7}, Host: "edge-k", PoP: "ams"}
	every(ctx, time.Second, func() {
		h.Sequence++
		conns := []record.Conn{batchtest.Client(rng, s.day), batchtest.Client(rng, s.day)}
		s.pipe.send("ams", []batchtest.Batch{batchtest.New(s.t, h, conns...)})
		s.mu.Lock()
		s.kept += len(conns)
		s.mu.Unlock()
	})
}

// many codes records that differ by edit in one frame, which no agent would: batches behind each other are one of all records.
func many(t testing.TB, h wire.Header, n int, edit func(i int, c *record.Conn)) []byte {
	var body []byte
	for first := 0; first < n; first += 1000 {
		var b wire.Batch
		for i := first; i < min(n, first+1000); i++ {
			c := &record.Conn{Prefix: 0xcb007200 | 24}
			edit(i, c)
			check(t, b.Add(c))
		}
		frame, err := b.AppendFrame(nil, &h)
		check(t, err)
		_, skip := binary.Uvarint(frame)
		body = append(body, frame[skip:]...)
	}
	return append(binary.AppendUvarint(nil, uint64(len(body))), body...)
}

// hostileAgent has a certificate: it sends wrong windows, records of nothing, and a congestion control a record.
func (s *allAtOnce) hostileAgent(ctx context.Context) {
	creds, err := mtls.Open(s.authority.Issue(eve), func(error) {})
	check(s.t, err)
	c := link.NewClient([]string{s.url}, creds.Dial, patience)
	h := wire.Header{PoP: "chi", Host: "eve", Boot: record.BootID{66}}
	every(ctx, 100*time.Millisecond, func() {
		now := time.Now().Unix() / int64(siegeWindow/time.Second) * int64(siegeWindow/time.Second)
		for _, edit := range []func(i int, c *record.Conn){
			func(i int, c *record.Conn) { c.Window = now + 1 + int64(i) },
			func(_ int, c *record.Conn) { c.Window = now },
			func(i int, c *record.Conn) {
				c.Window, c.Cong, c.Remote = now, fmt.Sprint("c", i), netip.MustParseAddrPort("203.0.114.9:1000")
			},
		} {
			for _, n := range []int{4000, 1000} { // 1000 are an honest batch's
				h.Sequence++
				_ = c.Send(ctx, many(s.t, h, n, edit))
				s.tries.Add(1)
			}
		}
	})
}

// hostileClient may write into the topic: keys of megabytes, frames of nothing but windows, and noise.
func (s *allAtOnce) hostileClient(ctx context.Context) {
	c, err := kgo.NewClient(kgo.SeedBrokers(s.pipe.broker.Broker()), kgo.DefaultProduceTopic(s.pipe.topic.Topic), kgo.ProducerBatchMaxBytes(16<<20),
		kgo.MaxBufferedBytes(64<<20), kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.RecordDeliveryTimeout(10*time.Second))
	check(s.t, err)
	defer c.Close()
	tiny := many(s.t, wire.Header{PoP: "ams", Host: "eve", Boot: record.BootID{66}, Sequence: 1}, 100_000, func(_ int, c *record.Conn) { c.Window = s.day })
	_, skip := binary.Uvarint(tiny)
	noise := make([]byte, 64<<10)
	every(ctx, 200*time.Millisecond, func() {
		_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
		for _, r := range []*kgo.Record{
			{Key: make([]byte, 2<<20), Value: []byte("none")}, {Value: tiny[skip:]}, {Key: []byte("ams"), Value: noise},
		} {
			_ = c.ProduceSync(ctx, r).FirstErr()
			s.tries.Add(1)
		}
	})
}

// localUser holds the page's port, asks it to stop the PoP, and asks what is dear.
func (s *allAtOnce) localUser(ctx context.Context) {
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	page := "http://" + s.cfg.Metrics
	client := &http.Client{Timeout: 5 * time.Second}
	for i := 0; ctx.Err() == nil; i++ {
		if c, err := net.DialTimeout("tcp", s.cfg.Metrics, time.Second); err == nil {
			held = append(held, c)
		}
		if len(held) > 300 {
			held[0].Close()
			held = held[1:]
		}
		for path, body := range map[string]string{"stop": "{}", "effect": fmt.Sprintf(`{"since_s":%d}`, 600+i), "compare": strings.Repeat("x", 1<<20)} {
			if r, err := client.Post(page+"/api/pop/chi/v1/"+path, "application/json", strings.NewReader(body)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
			s.tries.Add(1)
		}
	}
}

// stranger has no certificate: it opens connections to the agents' port and never says what it wants.
func (s *allAtOnce) stranger(ctx context.Context) {
	addr := strings.TrimPrefix(s.url, "https://")
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	every(ctx, 20*time.Millisecond, func() {
		d := tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}, Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}}
		c, err := d.DialContext(ctx, "tcp", addr)
		s.tries.Add(1)
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "POST /congctl.v1.Fleet/Push HTTP/1.1\r\nHost: x\r\nContent-Type: application/proto\r\nContent-Length: 100000\r\n\r\n")
		if held = append(held, c); len(held) > 1000 {
			held[0].Close()
			held = held[1:]
		}
	})
}

// judge compares what was sent with what was decided and kept.
func (s *allAtOnce) judge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	windows := make([]int64, 0, len(s.sent))
	want := 0
	for w, n := range s.sent {
		windows = append(windows, w)
		want += n
	}
	slices.Sort(windows)
	of := uplinkConn(0).Prefix // 203.0.113.0/24: the hostile agent has the next
	eventually(s.t, "a round of the last window", wholeTime, func() bool {
		return slices.ContainsFunc(s.rowsOf(s.dir+"/state/pops/chi/congctl.db"), func(w record.Window) bool { return w.Start == windows[len(windows)-1] })
	})
	rounds := map[int64]int{}
	for _, w := range s.rowsOf(s.dir + "/state/pops/chi/congctl.db") {
		if w.Prefix == of {
			rounds[w.Start] += int(w.Conns)
		}
	}
	for _, w := range windows {
		if rounds[w] != s.sent[w] {
			s.t.Errorf("window %d: %d of %d honest records in its round", w, rounds[w], s.sent[w])
		}
	}
	if have := s.pipe.until([]string{"ams"}, s.day, s.kept); have != s.kept {
		s.t.Errorf("%d records of the window in ClickHouse, %d honest ones were sent", have, s.kept)
	}
	longest := 0
	for line := range strings.Lines(s.log.String()) {
		longest = max(longest, len(line))
	}
	if longest > 500 {
		s.t.Errorf("a line of %d bytes in the controller's log", longest)
	}
	s.t.Logf("%d windows with %d honest records, %d through Kafka; %d hostile tries; the controller's log has %d bytes, its memory %d kB at most", len(windows), want, s.kept,
		s.tries.Load(), len(s.log.String()), s.peakKB())
	for i, name := range []string{"quiet", "besieged"} {
		all := s.took[i]
		slices.Sort(all)
		s.t.Logf("%s: %d honest pushes, median %s, p99 %s, longest %s", name, len(all), all[len(all)/2], all[len(all)*99/100], all[len(all)-1])
	}
}
