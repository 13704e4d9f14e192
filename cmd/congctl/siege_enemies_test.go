package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/fleet/store/kafka"
	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// enemies are TestSiege's, in a process of their own.
type enemies struct {
	URL, Page string     // of the controller: for agents, for a browser
	Files     mtls.Files // a hostile agent's
	Kafka     string
	Day       int64 // the window that is in question there
	Length    time.Duration

	tries atomic.Int64
}

// attack runs them all for the time that standard input says, and prints how often they tried.
func attack() error {
	var e enemies
	if err := json.NewDecoder(os.Stdin).Decode(&e); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), e.Length)
	defer stop()
	var all sync.WaitGroup
	for _, enemy := range []func(context.Context){e.hostileAgent, e.hostileClient, e.localUser, e.stranger} {
		all.Go(func() { enemy(ctx) })
	}
	all.Wait()
	fmt.Print(e.tries.Load())
	return nil
}

// many codes records that differ by edit in one frame, which no agent would: batches behind each other are one of all records.
func many(h wire.Header, n int, edit func(i int, c *record.Conn)) []byte {
	var body []byte
	for first := 0; first < n; first += 1000 {
		var b wire.Batch
		for i := first; i < min(n, first+1000); i++ {
			c := &record.Conn{Prefix: 0xcb007200 | 24}
			edit(i, c)
			if err := b.Add(c); err != nil {
				panic(err)
			}
		}
		frame, err := b.AppendFrame(nil, &h)
		if err != nil {
			panic(err)
		}
		_, skip := binary.Uvarint(frame)
		body = append(body, frame[skip:]...)
	}
	return append(binary.AppendUvarint(nil, uint64(len(body))), body...)
}

// hostileAgent has a certificate: it sends wrong windows, records of nothing, and a congestion control a record.
func (e *enemies) hostileAgent(ctx context.Context) {
	creds, err := mtls.Open(e.Files, func(error) {})
	if err != nil {
		panic(err)
	}
	c := link.NewClient([]string{e.URL}, creds.Dial, patience, plan.MaxFileBytes)
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
				_ = c.Send(ctx, many(h, n, edit))
				e.tries.Add(1)
			}
		}
	})
}

// hostileClient may write into the topic: keys of megabytes, frames of nothing but windows, and noise.
func (e *enemies) hostileClient(ctx context.Context) {
	topic, err := kafka.ParseAddress(e.Kafka)
	if err != nil {
		panic(err)
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(topic.Brokers...), kgo.DefaultProduceTopic(topic.Topic), kgo.ProducerBatchMaxBytes(16<<20),
		kgo.MaxBufferedBytes(64<<20), kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.RecordDeliveryTimeout(10*time.Second))
	if err != nil {
		panic(err)
	}
	defer c.Close()
	tiny := many(wire.Header{PoP: "ams", Host: "eve", Boot: record.BootID{66}, Sequence: 1}, 100_000, func(_ int, c *record.Conn) { c.Window = e.Day })
	_, skip := binary.Uvarint(tiny)
	noise := make([]byte, 64<<10)
	every(ctx, 200*time.Millisecond, func() {
		_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
		for _, r := range []*kgo.Record{
			{Key: make([]byte, 2<<20), Value: []byte("none")}, {Value: tiny[skip:]}, {Key: []byte("ams"), Value: noise},
		} {
			_ = c.ProduceSync(ctx, r).FirstErr()
			e.tries.Add(1)
		}
	})
}

// localUser is an ordinary one: it holds the page's port, asks it to stop the PoP, and asks what is dear, without a pause. A long body comes each 16th time: 230
// of them a second are a test of the machine, on two CPUs whose kernel is not preempted, and slow down an honest push as much where
// they go to a port of the enemy's own (median 3.2 ms, p99 10.5; to the controller 2.9 and 8.9).
func (e *enemies) localUser(ctx context.Context) {
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	page := "http://" + e.Page
	dial := &net.Dialer{Timeout: time.Second, Control: asNobody}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: dial.DialContext}}
	for i := 0; ctx.Err() == nil; i++ {
		if c, err := dial.DialContext(ctx, "tcp", e.Page); err == nil {
			held = append(held, c)
		}
		if len(held) > 300 {
			held[0].Close()
			held = held[1:]
		}
		asks := map[string]string{"stop": "{}", "effect": fmt.Sprintf(`{"Since":"%dm"}`, 1+i%600)}
		if i%16 == 0 {
			asks["compare"] = strings.Repeat("x", 1<<20)
		}
		for path, body := range asks {
			if r, err := client.Post(page+"/api/pop/chi/v1/"+path, "application/json", strings.NewReader(body)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
			e.tries.Add(1)
		}
	}
}

// asNobody makes a socket that of an ordinary user: whose a connection is, the kernel tells by its socket's owner.
func asNobody(_, _ string, c syscall.RawConn) (err error) {
	const nobody = 65534
	if told := c.Control(func(fd uintptr) { err = unix.Fchown(int(fd), nobody, nobody) }); told != nil {
		return told
	}
	return err
}

// stranger has no certificate: it opens connections to the agents' port and never says what it wants.
func (e *enemies) stranger(ctx context.Context) {
	addr := strings.TrimPrefix(e.URL, "https://")
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	every(ctx, 20*time.Millisecond, func() {
		d := tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}, Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}}
		c, err := d.DialContext(ctx, "tcp", addr)
		e.tries.Add(1)
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
