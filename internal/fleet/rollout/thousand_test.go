package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// tick is the simulator's step.
const tick = 100 * time.Millisecond

// message is an order on its way to an agent, or its answer on its way back.
type message struct {
	at    int // tick of arrival
	order Order
	event Event
}

// crowd is a PoP of many agents that all behave, behind a network that delays messages by one to four
// ticks, and loses some.
type crowd struct {
	r       *Rollout
	rng     *rand.Rand
	loss    float64
	now     int
	way     []message
	applied map[string]int // tick in which a host first had the last plan
	last    Plan
	tells   []Order
}

func newCrowd(hosts int, loss float64) *crowd {
	c := &crowd{rng: rand.New(rand.NewPCG(1, 2)), loss: loss, applied: map[string]int{}}
	c.r = New("ams", []byte("key"), DefaultRules(), State{})
	for i := range hosts {
		c.step(Connect{Host: fmt.Sprintf("h%03d", i)})
	}
	return c
}

func (c *crowd) step(e Event) {
	for _, o := range c.r.Step(noonNs+int64(c.now)*int64(tick), e) {
		switch o.Do {
		case OrderSend, OrderStop:
			c.put(message{order: o})
		case OrderTell:
			c.tells = append(c.tells, o)
		}
	}
}

func (c *crowd) put(m message) {
	if c.rng.Float64() >= c.loss {
		m.at = c.now + 1 + c.rng.IntN(4)
		c.way = append(c.way, m)
	}
}

// run lets time pass until the PoP is settled and nothing is on its way, and returns after how many ticks.
func (c *crowd) run(t *testing.T, most int) int {
	began := c.now
	for c.now-began < most {
		c.now++
		var arrived []message
		c.way = slices.DeleteFunc(c.way, func(m message) bool {
			if m.at <= c.now {
				arrived = append(arrived, m)
			}
			return m.at <= c.now
		})
		for _, m := range arrived {
			c.arrive(m)
		}
		c.step(Tick{})
		if len(c.way) == 0 && c.r.State.Stage == StageSettled {
			return c.now - began
		}
	}
	t.Fatalf("stage %s after %d ticks", c.r.State.Stage, most)
	return 0
}

func (c *crowd) arrive(m message) {
	switch o := m.order; {
	case m.event != nil:
		c.step(m.event)
	case o.Do == OrderStop:
		c.put(message{event: Stopped{o.Host, o.On}})
	case o.Serial == c.last.Serial:
		if _, again := c.applied[o.Host]; !again {
			c.applied[o.Host] = c.now
		}
		c.put(message{event: Ack{o.Host, o.Serial, c.last.Hash, c.last.Prefixes}})
	}
}

func (c *crowd) offer(p Plan) {
	c.last, c.applied = p, map[string]int{}
	c.step(Offer{Plan: p})
}

// TestThousandAgents measures in ticks how long a decision takes to be in force on every host. A goal of the
// fleet is 2 s for 99 % of the hosts.
func TestThousandAgents(t *testing.T) {
	const hosts = 1000
	for _, tt := range []struct {
		loss float64
		p99  int // ticks, at most
	}{{0, 20}, {0.02, 200}} {
		c := newCrowd(hosts, tt.loss)
		c.offer(content(t, "1Z0", noonNs))
		c.run(t, 1000)
		began := c.now
		c.offer(content(t, "2A500", noonNs))
		ended := c.run(t, 3000)
		var ticks []int
		for _, at := range c.applied {
			ticks = append(ticks, at-began)
		}
		slices.Sort(ticks)
		if len(ticks) != hosts || c.r.State.Base.Serial != 2 {
			t.Fatalf("loss %g: plan %d on %d hosts: %v", tt.loss, c.r.State.Base.Serial, len(ticks), c.tells)
		}
		p50, p99 := ticks[hosts/2-1], ticks[hosts*99/100-1]
		t.Logf("loss %g: applied after ticks of %s: median %d, p99 %d, last %d; all answered after %d", tt.loss, tick, p50, p99, ticks[hosts-1], ended)
		if p99 > tt.p99 {
			t.Errorf("loss %g: 99 %% of the hosts have the plan after %d ticks; want %d", tt.loss, p99, tt.p99)
		}
		for name, h := range c.r.State.Hosts {
			if h.Astray || h.Serial != 2 || h.Prefixes != 500 {
				t.Fatalf("loss %g: %s: %+v", tt.loss, name, h)
			}
		}
	}
}

func BenchmarkAck(b *testing.B) {
	c := newCrowd(1000, 0)
	c.offer(content(b, "1Z0", noonNs))
	for i := 0; b.Loop(); i++ {
		c.r.Step(noonNs, Ack{fmt.Sprintf("h%03d", i%1000), 1, "hash-1Z", 0})
	}
}
