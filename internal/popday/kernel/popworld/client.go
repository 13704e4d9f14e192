package popworld

import (
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/pop"
)

// clients are all of them. A goroutine lives as long as its session.
type clients struct {
	world  *pop.World
	dialer *dialer
	edge   *edge
	book   *book
	began  time.Time

	wg   sync.WaitGroup
	quit chan struct{} // closed when the day is over: who still waits goes home
}

func (c *clients) now() uint64 { return uint64(time.Since(c.began) / time.Microsecond) }

// at waits for a time of the day; false if the day ended before.
func (c *clients) at(us uint64) bool {
	d := time.Until(c.began.Add(time.Duration(us) * time.Microsecond))
	if d <= 0 {
		select {
		case <-c.quit:
			return false
		default:
			return true
		}
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.quit:
		return false
	}
}

// come has every session begin at its time.
func (c *clients) come() {
	for i := range c.world.Sessions {
		s := &c.world.Sessions[i]
		if !c.at(s.AtUs) {
			return
		}
		c.wg.Go(func() { c.live(i, s) })
	}
}

// speaker is a session's connection.
type speaker interface {
	// get returns the bytes of the body that came; first is called with the first of them.
	get(target string, n uint64, first func()) (got uint64, err error)
	addr() netip.AddrPort
	Close() error
}

func (s *socket) addr() netip.AddrPort { return s.local }

// live is one session: it ends with its last response or with the first trouble.
func (c *clients) live(number int, s *pop.Session) {
	n := &c.world.Networks[s.Network]
	var conn speaker
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	var before socketState
	for i, q := range s.Requests {
		if !c.at(c.now() + q.WaitUs) {
			return
		}
		r := popday.Response{Network: s.Network, Session: number, Request: i, StartUs: c.now(), Asked: q.Bytes, Fresh: i == 0, HTTP2: s.HTTP2}
		var err error
		if conn == nil {
			conn, err = c.connect(n, s)
		}
		if err == nil {
			r.Got, err = conn.get(target(n, q), q.Bytes, func() { r.FirstUs = c.now() })
		}
		r.EndUs = c.now()
		if err != nil {
			r.Trouble = err.Error()
		}
		if conn != nil {
			c.fill(&r, conn.addr(), &before)
		}
		c.book.add(&r)
		if err != nil {
			return
		}
	}
}

func (c *clients) connect(n *pop.Network, s *pop.Session) (speaker, error) {
	sock, err := c.dialer.dial(hostOf(n.Prefix, s.Host), netip.AddrPortFrom(serverOf(n), serverPort), int(n.Traffic.Rcvbuf))
	if err != nil {
		return nil, err
	}
	if n.Traffic.Rcvbuf > 0 {
		sock.lowat = 0 // never set: the kernel would make the buffer larger
	}
	if s.HTTP2 {
		return speakHTTP2(sock)
	}
	return sock, nil
}

func target(n *pop.Network, q pop.Request) string {
	if r := n.Traffic.AppBitPerS; r > 0 {
		return fmt.Sprintf("/%d?rate=%d", q.Bytes, r/8)
	}
	return "/" + strconv.FormatUint(q.Bytes, 10)
}

// fill adds the state of the edge's kernel.
func (c *clients) fill(r *popday.Response, client netip.AddrPort, before *socketState) {
	now, ok := c.edge.look(client)
	if !ok {
		return
	}
	r.Cong, r.MinRTTUs = now.cong, now.minRTTUs
	r.SentBytes, r.RetransBytes = now.sent-before.sent, now.retrans-before.retrans
	*before = now
}
