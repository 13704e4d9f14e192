package listener

import (
	"net"
	"sync"
)

// few accepts so many connections at a time; others wait in the kernel's queue.
type few struct {
	net.Listener
	free chan struct{} // has a value for each connection
}

func (f *few) Accept() (net.Conn, error) {
	f.free <- struct{}{}
	c, err := f.Listener.Accept()
	if err != nil {
		<-f.free
		return nil, err
	}
	return &held{Conn: c, free: f.free}, nil
}

// held gives its place back when it is closed.
type held struct {
	net.Conn
	free chan struct{}
	once sync.Once
}

func (h *held) Close() error {
	h.once.Do(func() { <-h.free })
	return h.Conn.Close()
}
