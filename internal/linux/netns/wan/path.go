// Package wan is a wide area network between namespaces: paths with a rate, a buffer, losses and a
// delay, made of TUN links and this process. The kernels at both ends are real.
//
// It is for tests and demonstrations, since few kernels have netem, and a queue of the sender's own
// host tells the sender of what it drops.
//
// Its trap: a packet is a system call each way, so some 10,000 packets a second take a CPU.
package wan

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
)

// Path is one direction between two hosts.
type Path struct {
	BytesPerS, BufferBytes float64 // 0: no bound
	Loss                   float64 // share of packets, each for itself
	Delay                  time.Duration
}

// Line carries the packets of one path, in order, to one link. One goroutine may call Send.
type Line struct {
	path Path
	rng  *rand.Rand
	way  chan onItsWay
	free time.Time // when all that waits has left
}

// onItsWay is a packet and when it arrives.
type onItsWay struct {
	due    time.Time
	packet []byte
}

// mostOnTheWay bounds a line's memory: 15 MB of full packets.
const mostOnTheWay = 10_000

// NewLine starts a line. Close ends it.
func NewLine(p Path, to io.Writer, seed uint64) *Line {
	l := &Line{path: p, rng: rand.New(rand.NewPCG(seed, 0)), way: make(chan onItsWay, mostOnTheWay)}
	go func() {
		for x := range l.way {
			time.Sleep(time.Until(x.due))
			_, _ = to.Write(x.packet)
		}
	}()
	return l
}

// Close ends the line when what is on its way has arrived.
func (l *Line) Close() { close(l.way) }

// Send takes a copy of a packet, or loses it.
func (l *Line) Send(packet []byte) {
	now := time.Now()
	if l.free.Before(now) {
		l.free = now
	}
	if p := l.path; p.BytesPerS > 0 {
		if p.BufferBytes > 0 && l.free.Sub(now).Seconds()*p.BytesPerS+float64(len(packet)) > p.BufferBytes {
			return
		}
		l.free = l.free.Add(time.Duration(float64(len(packet)) / p.BytesPerS * float64(time.Second)))
	}
	if l.path.Loss > 0 && l.rng.Float64() < l.path.Loss {
		return // behind the bottleneck: it took its time there
	}
	l.way <- onItsWay{l.free.Add(l.path.Delay), bytes.Clone(packet)}
}

// Each calls do with each packet that a link sends, until the link is closed. It keeps the
// packet's memory.
func Each(link io.Reader, do func(packet []byte)) {
	for buf := make([]byte, 64<<10); ; {
		n, err := link.Read(buf)
		if err != nil {
			return
		}
		do(buf[:n])
	}
}

// Link makes a TUN link in a namespace; the file is its other end. It dies with the file.
func Link(ns *netns.NS, name string) (end *os.File, err error) {
	err = ns.Do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("open /dev/net/tun: %w", err)
		}
		ifr, err := unix.NewIfreq(name)
		if err == nil {
			ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
		}
		if err != nil {
			_ = unix.Close(fd)
			return fmt.Errorf("make link %s: %w", name, err)
		}
		end = os.NewFile(uintptr(fd), name) // now: what is not attached cannot be polled
		return nil
	})
	return end, err
}
