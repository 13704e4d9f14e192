package accesslog

import (
	"net/netip"
)

// Response is one line of a log.
type Response struct {
	Client netip.AddrPort // peer of the TCP connection, unmapped
	Server netip.AddrPort // as the server names itself; the address is invalid if the log has only the port
	Host   string         // virtual host; "" where the log has none

	StartUs, EndUs int64 // Unix microseconds: first byte of the request; last byte into the socket's buffer
	WaitUs         int64 // until the response's first byte, if the log has it; the server's time, not the path's

	SentBytes uint64 // with headers, into the socket: less than the body where the client went
	BodyBytes uint64 // at most SentBytes
	Protocol  Protocol
	Request   uint32 // number on its connection, from 1; 0 if the log has none
}

// Protocol is what matters of an HTTP version: whether responses share a connection at the
// same time, and whether there is a TCP connection at all.
type Protocol uint8

const (
	HTTP1 Protocol = iota // one response after another
	HTTP2                 // streams overlap
	HTTP3                 // over QUIC: no TCP connection, so never matched
)

var protocolNames = [...]string{"HTTP/1.1", "HTTP/2.0", "HTTP/3.0"}

// String returns the version as a server writes it.
func (p Protocol) String() string {
	if int(p) < len(protocolNames) {
		return protocolNames[p]
	}
	return "HTTP/?"
}

// protocols are those that are not HTTP/1, by $server_protocol or the end of a request line.
var protocols = map[string]Protocol{"HTTP/2.0": HTTP2, "HTTP/2": HTTP2, "HTTP/3.0": HTTP3, "HTTP/3": HTTP3}

// TransferUs returns the time in which the body went into the socket.
func (r *Response) TransferUs() int64 { return r.EndUs - r.StartUs - r.WaitUs }
