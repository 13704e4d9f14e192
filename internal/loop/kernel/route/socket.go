package route

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// socket is the main table of a network namespace over route netlink. Messages are
// written and read here and not by the netlink module: its Route keeps neither
// nexthop objects nor all encapsulations nor two locks, and a copy that lost one of
// those would send packets astray.
type socket struct {
	nl *nl.NetlinkSocket
	at map[int]*nl.SocketHandle
}

const (
	answerS   = 10 // seconds for an answer; the kernel answers at once or not at all
	dumpTries = 4  // a dump is interrupted when the table changes under it
)

// dial opens a socket in the namespace of the calling thread.
func dial() (*socket, error) {
	s, err := nl.GetNetlinkSocketAt(vnetns.None(), vnetns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open route netlink: %w", err)
	}
	if err := s.SetReceiveTimeout(&unix.Timeval{Sec: answerS}); err != nil {
		s.Close()
		return nil, fmt.Errorf("open route netlink: %w", err)
	}
	_ = s.SetExtAck(true) // Linux 4.12; before, refusals have a number only
	// Linux 4.20: the kernel filters a dump itself. Before, it sends everything.
	_ = unix.SetsockoptInt(s.GetFd(), unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1)
	return &socket{s, map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: s}}}, nil
}

func (s *socket) request(kind, flags int, body []byte) *nl.NetlinkRequest {
	req := nl.NewNetlinkRequest(kind, flags)
	req.AddRawData(body)
	req.Sockets = s.at
	return req
}

func (s *socket) do(c step) error {
	if c.add {
		_, err := s.request(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK, encode(c.entry)).Execute(unix.NETLINK_ROUTE, 0)
		return err
	}
	_, err := s.request(unix.RTM_DELROUTE, unix.NLM_F_ACK, encodeKey(c.entry)).Execute(unix.NETLINK_ROUTE, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil // the route has gone already, with its link for one
	}
	return err
}

// permitted tries to remove a route that cannot exist: the kernel checks the privilege
// first.
func (s *socket) permitted() error {
	e := entry{dst: netip.MustParsePrefix("255.255.255.255/32"), proto: Proto, metric: metric, kind: unix.RTN_UNICAST}
	if err := s.do(step{false, e}); errors.Is(err, unix.EPERM) {
		return fmt.Errorf("change routes: %w; run as root or grant CAP_NET_ADMIN in this network namespace", err)
	} else if err != nil {
		return fmt.Errorf("change routes: %w", err)
	}
	return nil
}

func (s *socket) routes(family, proto uint8, wanted func(head) bool) (out []entry, err error) {
	body := []byte{family, 0, 0, 0, unix.RT_TABLE_MAIN, proto, 0, 0, 0, 0, 0, 0}
	for range dumpTries {
		if out, err = s.dump(body, wanted); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil // no main table yet, or no IPv6
	}
	return out, err
}

func (s *socket) dump(body []byte, wanted func(head) bool) (out []entry, err error) {
	// The netlink module takes the text of a dump's last message for that of an
	// acknowledgement and panics: where there is no table yet.
	_ = s.nl.SetExtAck(false)
	defer func() { _ = s.nl.SetExtAck(true) }()
	var bad error
	err = s.request(unix.RTM_GETROUTE, unix.NLM_F_DUMP, body).ExecuteIter(unix.NETLINK_ROUTE, unix.RTM_NEWROUTE, func(m []byte) bool {
		h, err := decodeHead(m)
		// Without IPv6 the kernel answers with the routes of all families.
		if err == nil && (h.family != body[0] || h.table != unix.RT_TABLE_MAIN || h.flags&unix.RTM_F_CLONED != 0 || !wanted(h)) {
			return true
		}
		var e entry
		if err == nil {
			e, err = decode(m)
		}
		if err != nil {
			bad = err
			return false
		}
		out = append(out, e)
		return true
	})
	if err == nil {
		err = bad
	}
	return out, err
}

func (s *socket) congOf(addr netip.Addr) (cong string, local bool, err error) {
	body := []byte{familyOf(addr), uint8(addr.BitLen()), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	body = appendAttr(body, unix.RTA_DST, addr.AsSlice())
	msgs, err := s.request(unix.RTM_GETROUTE, 0, body).Execute(unix.NETLINK_ROUTE, unix.RTM_NEWROUTE)
	if err != nil {
		return "", false, err
	}
	if len(msgs) == 0 {
		return "", false, errors.New("no answer")
	}
	e, err := decode(msgs[0])
	return e.cong, e.kind == unix.RTN_LOCAL, err
}
