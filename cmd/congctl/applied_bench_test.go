package main

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/rollout"
	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

const manyAgents = 1000

// agents are agents of one PoP with kernels that only count: all else of the way of a plan is real.
type agents struct {
	key ed25519.PublicKey

	mu      sync.Mutex
	applied map[string]time.Time // when a host had the first plan with entries in force
}

// follow is what an agent does with its orders.
func (c *agents) follow(ctx context.Context, host string, client *link.Client) error {
	boot := record.BootID{1}
	return client.Follow(ctx, link.Have{Boot: boot}, func(o link.Order) {
		r := link.Report{Boot: boot, Stopped: o.Stopped}
		if o.Plan != nil {
			p, _, err := plan.Parse(o.Plan)
			if err == nil {
				err = plan.Verify(o.Plan, c.key)
			}
			if err != nil {
				r.Refusal = err.Error()
			} else {
				c.apply(host, p)
				r.Plan, r.Hash, r.InForce = p.Serial, p.Hash(), len(p.Entries)
			}
		}
		_ = client.Report(ctx, r) // else it is asked again
	})
}

func (c *agents) apply(host string, p *plan.Plan) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, was := c.applied[host]; !was && len(p.Entries) > 0 {
		c.applied[host] = now
	}
}

func (c *agents) all() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.applied) == manyAgents
}

// startAgents starts a controller of PoP chi with a network to treat always, and agents over TLS on
// loopback; it returns when all of them are connected.
func startAgents(b *testing.B, ctx context.Context, all *sync.WaitGroup) (*popOffice, *agents) {
	authority, cfg := mtlstest.New(b), config.Default()
	cfg.StateDir, cfg.Fleet.PoPs = b.TempDir(), []string{"chi"}
	for i := range 500 {
		n := netip.PrefixFrom(netip.AddrFrom4([4]byte{203, byte(i >> 8), byte(i), 0}), 24)
		cfg.Treatment.Always = append(cfg.Treatment.Always, policy.Listed{Net: n, Reason: "satellite link"})
	}
	rules, err := cfg.Rules()
	check(b, err)
	rules.Always = cfg.Treatment.Always
	o := newOffice(cfg, rules, slog.New(slog.DiscardHandler))
	check(b, o.open(ctx, "chi"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(b, err)
	creds := func(id mtls.Identity) *mtls.Credentials {
		c, err := mtls.Open(authority.Issue(id), func(err error) { b.Error(err) })
		check(b, err)
		return c
	}
	server := creds(mtls.Identity{Role: mtls.Controller, Name: "main"})
	all.Go(func() { check(b, o.run(ctx, &farApart{Listener: l}, server)) })
	p := o.pops["chi"]
	c := &agents{key: p.controller.PublicKey(), applied: map[string]time.Time{}}
	for i := range manyAgents {
		host := fmt.Sprintf("edge-%03d", i)
		client := link.NewClient([]string{"https://" + l.Addr().String()}, creds(mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: host}).Dial, wholeTime, plan.MaxFileBytes)
		all.Go(func() {
			for ctx.Err() == nil {
				_ = c.follow(ctx, host, client) // until ctx ends; else it comes back
			}
		})
	}
	eventually(b, "all agents are connected", wholeTime, func() bool { return connected(p.Hosts()) == manyAgents })
	return p, c
}

// farApart lets each connection come from another address: one address may have only so many.
type farApart struct {
	net.Listener
	n uint32
}

type fromAfar struct {
	net.Conn
	addr net.Addr
}

func (c fromAfar) RemoteAddr() net.Addr { return c.addr }

func (f *farApart) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	f.n++
	return fromAfar{c, &net.TCPAddr{IP: net.IPv4(198, 18, byte(f.n>>8), byte(f.n)), Port: 1}}, nil
}

func connected(s rollout.State) (n int) {
	for _, h := range s.Hosts {
		if h.Connected {
			n++
		}
	}
	return n
}

// BenchmarkApplied is the time from a decision until it is in force on each of 1,000 agents: the round
// and its store, the signature, canary, share and all, TLS and the stream of orders to each agent,
// its check of the plan, and its answer. All of them share this machine's processors.
func BenchmarkApplied(b *testing.B) {
	loopbackUp(b)
	var after []float64
	for b.Loop() {
		b.StopTimer()
		ctx, stop := context.WithCancel(b.Context())
		var all sync.WaitGroup
		p, c := startAgents(b, ctx, &all)
		b.StartTimer()
		began := time.Now()
		check(b, p.controller.Round(ctx, agent.ClosedWindow{Start: began.Unix()/300*300 - 300, DefaultCongs: []string{"cubic"}}))
		eventually(b, "all agents have the plan", wholeTime, c.all)
		for _, at := range c.applied {
			after = append(after, at.Sub(began).Seconds())
		}
		b.StopTimer()
		stop()
		all.Wait()
		check(b, p.shut())
		b.StartTimer()
	}
	slices.Sort(after)
	b.ReportMetric(after[len(after)/2], "s-median")
	b.ReportMetric(after[len(after)*99/100-1], "s-p99")
	b.ReportMetric(after[len(after)-1], "s-last")
}
