package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/congctl/congctl/internal/kernel/netns"
)

// The load: real HTTP downloads from each client network, each host of it with a
// habit of its own, from a seeded generator so that two runs ask for the same.
//
//	host 0  a page and a download on a new connection, and again
//	host 1  a page of six small objects over one kept-alive connection, and again
//	host 2  on every fourth network, the same as host 0 over HTTP/2
//
// A small response always comes before the large one on its connection: after
// it, a connection that was switched rightly stays switched.

// Sizes in bytes. Large ones are cut to what a link carries in about this long, so
// that a slow network still finishes several in a window of three seconds.
const (
	smallest, smallSpan = 10_000, 50_000
	largeLeast          = 300_000
	largeMost           = 3_000_000
	largeSeconds        = 1.0
	objectsPerPage      = 6
)

// think is the mean pause between sessions: links are busy most of the time, and two
// cores are not.
const think = 125 * time.Millisecond

// load is all clients of all networks.
type load struct {
	wg     sync.WaitGroup
	gets   atomic.Int64
	bytes  atomic.Int64
	broken atomic.Int64
}

// start sets a network's hosts to work until ctx ends.
func (l *load) start(ctx context.Context, i int, n network, at netns.Network) {
	hosts := []func(*visitor, context.Context){(*visitor).download, (*visitor).page}
	if i%4 == 0 {
		hosts = append(hosts, (*visitor).download)
	}
	for h, habit := range hosts {
		v := &visitor{load: l, class: n.class, at: at, from: at.Addrs[h], h2: h == 2, dice: rand.New(rand.NewPCG(uint64(i), uint64(h)))}
		l.wg.Go(func() { v.live(ctx, habit) })
	}
}

// visitor is one host of a client network.
type visitor struct {
	load  *load
	class class
	at    netns.Network
	from  netip.Addr
	h2    bool
	dice  *rand.Rand
}

// live repeats a habit. The first pause differs from host to host, so that they
// do not all begin at once.
func (v *visitor) live(ctx context.Context, habit func(*visitor, context.Context)) {
	pause := time.Duration(v.dice.IntN(int(4 * think)))
	for sleep(ctx, pause) {
		habit(v, ctx)
		pause = think/2 + time.Duration(v.dice.IntN(int(think)))
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// session is one connection.
func (v *visitor) session() *http.Client {
	t := &http.Transport{DialContext: v.at.Dialer(v.from), MaxConnsPerHost: 1, DisableCompression: true, Protocols: &http.Protocols{}}
	t.Protocols.SetHTTP1(!v.h2)
	t.Protocols.SetUnencryptedHTTP2(v.h2)
	return &http.Client{Transport: t, Timeout: 30 * time.Second}
}

func (v *visitor) small() int { return smallest + v.dice.IntN(smallSpan) }

func (v *visitor) large() int {
	n := int(v.class.mbit * 1e6 / 8 * largeSeconds * (0.5 + v.dice.Float64()))
	return min(max(n, largeLeast), largeMost)
}

func (v *visitor) download(ctx context.Context) {
	c := v.session()
	defer c.CloseIdleConnections()
	_ = v.get(ctx, c, v.small()) && v.get(ctx, c, v.large())
}

func (v *visitor) page(ctx context.Context) {
	c := v.session()
	defer c.CloseIdleConnections()
	for range objectsPerPage {
		if !v.get(ctx, c, v.small()) {
			return
		}
	}
}

func (v *visitor) get(ctx context.Context, c *http.Client, n int) bool {
	got, err := fetch(ctx, c, v.at.Server, n)
	v.load.bytes.Add(got)
	switch {
	case err == nil:
		v.load.gets.Add(1)
		return true
	case ctx.Err() == nil:
		v.load.broken.Add(1)
	}
	return false
}

func fetch(ctx context.Context, c *http.Client, server netip.Addr, n int) (got int64, err error) {
	url := fmt.Sprintf("http://%s/bytes/%d", netip.AddrPortFrom(server, serverPort), n)
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	r, err := c.Do(q)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	got, err = io.Copy(io.Discard, r.Body)
	if err == nil && (r.StatusCode != http.StatusOK || got != int64(n)) {
		err = fmt.Errorf("get %s: %s, %d bytes", url, r.Status, got)
	}
	return got, err
}
