// Package loopback makes a real connection from this host to itself and reads its
// congestion control from the kernel, which a setting alone does not prove. It also says whose user the other end of
// such a connection is.
//
// It measures no speed: the loopback interface has no queue and no loss.
//
// Its trap: a route with its own congestion control, or a sock_ops program, can set
// another one for loopback than for the rest of the world.
package loopback

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// Proof is the kernel's view of one connection.
type Proof struct {
	Addr string `json:"addr"` // "127.0.0.1", "::1"
	Cong string `json:"cong"`
	// The rest is of BBR alone.
	BwBytesPerS uint64  `json:"bw_bytes_per_s,omitempty"`
	MinRttUs    uint32  `json:"min_rtt_us,omitempty"`
	PacingGain  float64 `json:"pacing_gain,omitempty"`
	CwndGain    float64 `json:"cwnd_gain,omitempty"`
}

func (p Proof) String() string {
	if p.Cong != "bbr" {
		return fmt.Sprintf("%s %s", p.Addr, p.Cong)
	}
	return fmt.Sprintf("%s bbr:(bw:%dbit/s,mrtt:%.3fms,pacing_gain:%.3g,cwnd_gain:%.3g)",
		p.Addr, p.BwBytesPerS*8, float64(p.MinRttUs)/1000, p.PacingGain, p.CwndGain)
}

const (
	// patience is for a host that is short of CPU: a connection to itself takes 0.1 ms.
	patience = 5 * time.Second
	// sample is what is sent for the kernel to measure: some round trips' worth.
	sample = 64 << 10
)

// Connect makes one connection for each IP version that loopback has.
func Connect() (proofs []Proof, err error) {
	for _, addr := range []string{"127.0.0.1", "::1"} {
		p, err := connect(addr)
		if addr == "::1" && (errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT)) {
			continue // no IPv6 here
		}
		if errors.Is(err, unix.ENETUNREACH) {
			err = fmt.Errorf("%w: the loopback is down: ip link set lo up", err)
		}
		if err != nil {
			return proofs, fmt.Errorf("connect to %s: %w", addr, err)
		}
		proofs = append(proofs, p)
	}
	return proofs, nil
}

func connect(addr string) (p Proof, err error) {
	l, err := net.Listen("tcp", net.JoinHostPort(addr, "0"))
	if err != nil {
		return p, err
	}
	defer l.Close()
	go drain(l)
	c, err := net.DialTimeout("tcp", l.Addr().String(), patience)
	if err != nil {
		return p, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return p, err
	}
	if _, err := c.Write(make([]byte, sample)); err != nil {
		return p, err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return p, err
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // all is acknowledged then
		return p, fmt.Errorf("wait for the other end: %w", err)
	}
	p.Addr = addr
	return p, p.ask(c.(*net.TCPConn))
}

// drain reads one connection to its end and closes it.
func drain(l net.Listener) {
	c, err := l.Accept()
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, c) // the other end tells what went wrong
	c.Close()
}

func (p *Proof) ask(c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var asked error
	err = raw.Control(func(fd uintptr) {
		p.Cong, asked = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		if asked != nil || p.Cong != "bbr" {
			return
		}
		info, err := unix.GetsockoptTCPCCBBRInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_CC_INFO)
		if err != nil {
			return // before 4.9 there was none; the name is the proof
		}
		const unit = 256 // a gain of 1.0
		p.BwBytesPerS, p.MinRttUs = uint64(info.Bw_hi)<<32|uint64(info.Bw_lo), info.Min_rtt
		p.PacingGain, p.CwndGain = float64(info.Pacing_gain)/unit, float64(info.Cwnd_gain)/unit
	})
	return errors.Join(err, asked)
}
