package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/tcp/record"
)

// The accept log is a server's own account of its connections, kept by another
// process with nothing of congctl in it: the cookie at accept, and the kernel's
// counters once the socket is closed. A socket that was shut down and not closed
// by the application still answers TCP_INFO then.

// manner is how a connection goes.
type manner byte

const (
	clientFirst  manner = iota // the client closes first
	serverFirst                // the server does
	slow                       // in pieces over several windows
	clientReset                // the client resets after it has all
	serverReset                // the server resets after all is acknowledged
	clientAborts               // the client resets in the middle
	plainClose                 // the server calls close() and never looks again
	manners
)

// request is what a client sends: manner and size.
const requestBytes = 5

const (
	pieces    = 20
	pieceTime = 400 * time.Millisecond
	tcpClose  = 7
)

// accepted is one line of the log.
type accepted struct {
	Cookie                         record.Cookie
	How                            manner
	AcceptNs, CloseNs              int64 // Unix
	Acked, Sent, Retrans, Received uint64
	Loose                          bool // counters of just before close(): the FINs are not in them
}

const acceptedLine = "%d %d %d %d %d %d %d %d %t\n"

func (a *accepted) fields() []any {
	return []any{&a.Cookie, &a.How, &a.AcceptNs, &a.CloseNs, &a.Acked, &a.Sent, &a.Retrans, &a.Received, &a.Loose}
}

type acceptLog struct {
	mu  sync.Mutex // guards out
	out *bufio.Writer
}

func (l *acceptLog) write(a *accepted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, acceptedLine, a.Cookie, a.How, a.AcceptNs, a.CloseNs, a.Acked, a.Sent, a.Retrans, a.Received, a.Loose)
}

const logFileEnv = "CONGCTL_TEST_LOG"

// keepAcceptLog is the server process: it prints its two addresses, serves until
// its standard input ends, and then until its connections have.
func keepAcceptLog() error {
	f, err := os.Create(os.Getenv(logFileEnv))
	if err != nil {
		return err
	}
	l := &acceptLog{out: bufio.NewWriter(f)}
	var accepting, serving sync.WaitGroup
	var listeners []net.Listener
	for _, a := range []netip.Addr{netns.EdgeAddr4, netns.EdgeAddr6} {
		ln, err := listenCubic(context.Background(), a)
		if err != nil {
			return err
		}
		listeners = append(listeners, ln)
		fmt.Println(ln.Addr())
		accepting.Go(func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				serving.Go(func() { l.serve(c.(*net.TCPConn)) })
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	time.Sleep(200 * time.Millisecond) // the last ones may wait to be accepted
	for _, ln := range listeners {
		ln.Close()
	}
	accepting.Wait()
	serving.Wait()
	if err := l.out.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func (l *acceptLog) serve(c *net.TCPConn) {
	defer c.Close()
	a := &accepted{AcceptNs: time.Now().UnixNano(), Cookie: cookieOf(c)}
	var req [requestBytes]byte
	if _, err := io.ReadFull(c, req[:]); err != nil {
		fmt.Fprintln(os.Stderr, "request:", err)
	}
	a.How = manner(req[0])
	n := int(binary.BigEndian.Uint32(req[1:]))
	send(c, n, a.How)
	switch a.How {
	case serverReset, plainClose:
		a.takeOpen(c, n)
	default:
		a.takeClosed(c)
	}
	l.write(a)
}

// send gives up when the client does.
func send(c net.Conn, n int, how manner) {
	piece := len(body)
	if how == slow {
		piece = n / pieces
	}
	for n > 0 {
		m, err := c.Write(body[:min(n, piece)])
		if err != nil {
			return
		}
		if n -= m; how == slow {
			time.Sleep(pieceTime)
		}
	}
}

// takeClosed ends the connection from this side and waits until it is over.
func (a *accepted) takeClosed(c *net.TCPConn) {
	if a.How == serverFirst {
		_ = c.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, c)
	_ = c.CloseWrite()
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		in := infoOf(c)
		if in.State == tcpClose || time.Now().After(end) {
			a.CloseNs = time.Now().UnixNano()
			a.take(in)
			return
		}
	}
}

// takeOpen waits until all n bytes are acknowledged, so that nothing moves between
// the look and the close.
func (a *accepted) takeOpen(c *net.TCPConn, n int) {
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		in := infoOf(c)
		if in.Bytes_acked >= uint64(n) || time.Now().After(end) {
			a.take(in)
			break
		}
	}
	a.Loose = a.How == plainClose
	if a.How == serverReset {
		_ = c.SetLinger(0)
	}
	a.CloseNs = time.Now().UnixNano()
}

func (a *accepted) take(in *unix.TCPInfo) {
	a.Acked, a.Sent, a.Retrans, a.Received = in.Bytes_acked, in.Bytes_sent, in.Bytes_retrans, in.Bytes_received
}

func infoOf(c *net.TCPConn) (in *unix.TCPInfo) {
	in = &unix.TCPInfo{}
	raw, err := c.SyscallConn()
	if err != nil {
		return in
	}
	_ = raw.Control(func(fd uintptr) {
		if got, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			in = got
		}
	})
	return in
}

func cookieOf(c *net.TCPConn) (cookie record.Cookie) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		n, _ := unix.GetsockoptUint64(int(fd), unix.SOL_SOCKET, unix.SO_COOKIE)
		cookie = record.Cookie(n)
	})
	return cookie
}
