package popworld

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
)

const (
	serverPort = 80
	// mostBytes of a response: a piece of one array.
	mostBytes = 32 << 20
	// tick of an application that hands out slowly.
	tick = 100 * time.Millisecond
)

// edge serves GET /N: N bytes, and GET /N?rate=R: N bytes at R bytes/s.
type edge struct {
	http *http.Server
	body []byte

	mu    sync.Mutex // guards conns
	conns map[netip.AddrPort]*conn
}

// serve starts the server in the edge's namespace, and in the one of the neighbours.
func serve(ctx context.Context, s *star) (*edge, error) {
	e := &edge{body: make([]byte, mostBytes), conns: map[netip.AddrPort]*conn{}}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	e.http = &http.Server{Handler: e, Protocols: protocols, ConnState: e.follow, DisableGeneralOptionsHandler: true}
	at := []struct {
		server *room
		addr   netip.Addr
	}{{s.edge, netns.EdgeAddr4}, {s.edge, netns.EdgeAddr6}, {s.other, otherAddr4}, {s.other, otherAddr6}}
	for _, a := range at {
		if a.server == nil {
			continue
		}
		l, err := a.server.NS.Listen(ctx, nil, netip.AddrPortFrom(a.addr, serverPort))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("listen on the edge: %w", err), e.http.Close())
		}
		go e.http.Serve(listener{l}) // ends with Close
	}
	return e, nil
}

// follow keeps the connections by their clients' addresses.
func (e *edge) follow(c net.Conn, state http.ConnState) {
	q, ok := c.(*conn)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch at := remoteOf(c); state {
	case http.StateNew:
		e.conns[at] = q
	case http.StateClosed, http.StateHijacked:
		delete(e.conns, at)
	}
}

func remoteOf(c net.Conn) netip.AddrPort {
	a := c.RemoteAddr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// ServeHTTP answers. Whatever is wrong with a request is wrong with the schedule.
func (e *edge) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	n, err := strconv.Atoi(strings.TrimPrefix(q.URL.Path, "/"))
	if err != nil || n < 0 || n > mostBytes {
		http.Error(w, "the path must be a number of bytes, at most 32 MiB", http.StatusBadRequest)
		return
	}
	w.Header()["Content-Type"] = []string{"application/octet-stream"}
	w.Header()["Content-Length"] = []string{strconv.Itoa(n)}
	if rate, _ := strconv.Atoi(q.URL.Query().Get("rate")); rate > 0 {
		e.trickle(w, n, rate)
		return
	}
	_, _ = w.Write(e.body[:n]) // a client that went away is in the client's book
}

// trickle is an application that has its bytes at a rate of its own.
func (e *edge) trickle(w http.ResponseWriter, n, rate int) {
	flush := http.NewResponseController(w)
	for step := max(rate/int(time.Second/tick), 1); n > 0; n -= step {
		if _, err := w.Write(e.body[:min(step, n)]); err != nil {
			return
		}
		_ = flush.Flush()
		if n > step {
			time.Sleep(tick)
		}
	}
}

// socketState is a connection's state in the edge's kernel.
type socketState struct {
	cong          string
	sent, retrans uint64
	minRTTUs      uint32
}

// look reads the edge's end of a client's connection; false if there is none.
func (e *edge) look(client netip.AddrPort) (s socketState, ok bool) {
	e.mu.Lock()
	c := e.conns[client]
	e.mu.Unlock()
	if c == nil {
		return s, false
	}
	err := c.raw.Control(func(fd uintptr) {
		var name [16]byte // TCP_CA_NAME_MAX
		var info unix.TCPInfo
		err1 := tcpOption(fd, unix.TCP_CONGESTION, unsafe.Pointer(&name), uint32(len(name)))
		err2 := tcpOption(fd, unix.TCP_INFO, unsafe.Pointer(&info), unix.SizeofTCPInfo)
		if ok = err1 == nil && err2 == nil; ok {
			s = socketState{unix.ByteSliceToString(name[:]), info.Bytes_sent, info.Bytes_retrans, info.Min_rtt}
		}
	})
	return s, ok && err == nil
}

func (e *edge) close() { _ = e.http.Close() } // of connections that the day cut anyway
