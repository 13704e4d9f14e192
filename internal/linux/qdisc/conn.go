package qdisc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/vishvananda/netlink/nl"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Root is the parent of a link's own qdisc; Child of what hangs below a handle.
const Root = uint32(0xffffffff) // TC_H_ROOT

// Handle is MAJOR:0, the name of a qdisc on its link.
func Handle(major uint16) uint32 { return uint32(major) << 16 }

// Child is the only class (MAJOR:1) of a netem or tbf.
func Child(of uint32) uint32 { return of | 1 }

// Class is the n-th class of a prio, counted from 0: that of priority n.
func Class(of uint32, n uint16) uint32 { return of | uint32(n+1) }

// At is a place for a qdisc: link index, parent, handle.
type At struct {
	Link           int
	Parent, Handle uint32
}

// Conn is a route netlink socket in the namespace it was opened in. For one
// goroutine at a time.
type Conn struct {
	sock *nl.NetlinkSocket
	at   map[int]*nl.SocketHandle
}

// answerS is how long an answer may take: the kernel answers at once or never.
const answerS = 10

// Open opens a Conn in the namespace of the calling thread.
func Open() (*Conn, error) {
	s, err := nl.GetNetlinkSocketAt(vnetns.None(), vnetns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open route netlink: %w", err)
	}
	if err := s.SetReceiveTimeout(&unix.Timeval{Sec: answerS}); err != nil {
		s.Close()
		return nil, fmt.Errorf("open route netlink: %w", err)
	}
	_ = s.SetExtAck(true) // without it refusals have a number only
	return &Conn{s, map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: s}}}, nil
}

// Close closes the socket.
func (c *Conn) Close() { c.sock.Close() }

// ErrUnknown means that this kernel has no qdisc, filter or action of a kind.
var ErrUnknown = errors.New("this kernel does not have it")

// Replace puts a qdisc in place of the present one, and changes one of the same kind and
// handle. A policer's place is the link alone, which must have none.
func (c *Conn) Replace(at At, s Spec) error {
	if p, ok := s.(Police); ok {
		return c.addPolice(at.Link, p)
	}
	return c.send("replace", unix.NLM_F_CREATE|unix.NLM_F_REPLACE, at, s)
}

// Change sets other parameters of the qdisc at a handle; what waits in it stays.
func (c *Conn) Change(at At, s Spec) error { return c.send("change", 0, at, s) }

func (c *Conn) send(verb string, flags int, at At, s Spec) error {
	req := c.request(unix.RTM_NEWQDISC, flags|unix.NLM_F_ACK, at)
	req.AddData(nl.NewRtAttr(unix.TCA_KIND, nl.ZeroTerminated(s.Kind())))
	if o := s.options(); o != nil {
		req.AddData(o)
	}
	if z, ok := s.(Sized); ok && len(z.Stab) > 0 {
		req.AddData(nl.NewRtAttr(unix.TCA_STAB, z.Stab))
	}
	if err := execute(req); err != nil {
		return fmt.Errorf("%s qdisc %s: %w", verb, s, err)
	}
	return nil
}

// Delete removes a qdisc and all below it; the link gets its default back.
func (c *Conn) Delete(at At) error {
	if err := execute(c.request(unix.RTM_DELQDISC, unix.NLM_F_ACK, at)); err != nil {
		return fmt.Errorf("delete qdisc: %w", err)
	}
	return nil
}

func (c *Conn) request(kind, flags int, at At) *nl.NetlinkRequest {
	req := nl.NewNetlinkRequest(kind, flags)
	req.AddData(&nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(at.Link), Handle: at.Handle, Parent: at.Parent})
	req.Sockets = c.at
	return req
}

// dump hands each message of an answer to fn, until the first that it cannot read.
func dump(req *nl.NetlinkRequest, typ uint16, fn func(m []byte) error) error {
	var bad error
	err := req.ExecuteIter(unix.NETLINK_ROUTE, typ, func(m []byte) bool {
		bad = fn(m)
		return bad == nil
	})
	return errors.Join(err, bad)
}

func execute(req *nl.NetlinkRequest) error {
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

var native = binary.NativeEndian

// Spec is a kind of qdisc with its parameters. String is what `tc qdisc show` would print,
// in this project's units.
type Spec interface {
	Kind() string
	String() string
	options() *nl.RtAttr // TCA_OPTIONS, nil for none
}

// Share is a probability in millionths as the kernel has it: of 2^32 - 1.
func Share(ppm uint32) uint32 {
	return uint32(math.Round(float64(ppm) / 1e6 * math.MaxUint32))
}

func nestedOptions() *nl.RtAttr { return nl.NewRtAttr(unix.TCA_OPTIONS, nil) }

func u32(v uint32) []byte { return native.AppendUint32(nil, v) }
func u64(v uint64) []byte { return native.AppendUint64(nil, v) }

// words are the members of a struct of u32.
func words(v ...uint32) (b []byte) {
	for _, w := range v {
		b = native.AppendUint32(b, w)
	}
	return b
}
