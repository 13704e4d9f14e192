package accesslog

import (
	"net/netip"

	"github.com/congctl/congctl/internal/strict"
)

// nginxKeys are nginx's own names. docs/format/access-log.md has the log_format.
// Two of them are for people who look lines up: status and connection.
var nginxKeys = []key{
	{name: "msec"}, {name: "request_time"}, {name: "remote_addr"}, {name: "remote_port"},
	{name: "server_addr", optional: true}, {name: "server_port"}, {name: "host", optional: true},
	{name: "server_protocol"}, {name: "bytes_sent"}, {name: "body_bytes_sent"},
	{name: "connection_requests"}, {name: "connection", optional: true}, {name: "status", optional: true},
}

// decodeNginx reads a line of log_format with escape=json. $msec is the time of
// the log line, after the last byte went to the socket; $request_time is counted
// from the request's first byte. Both have a millisecond's resolution.
func decodeNginx(line string) (r Response, fault *strict.Fault) {
	o, fault := parseObject(line, nginxKeys)
	if fault != nil {
		return r, fault
	}
	var w words
	r.Client = o.endpoint(&w, "remote_addr", "remote_port")
	r.Server = o.endpoint(&w, "server_addr", "server_port")
	r.EndUs = w.seconds("msec", o["msec"])
	r.StartUs = r.EndUs - w.seconds("request_time", o["request_time"])
	r.Host = o["host"]
	o.sizes(&w, &r, "bytes_sent", "body_bytes_sent", "server_protocol", "connection_requests")
	return r, w.fault
}

// endpoint joins an address and a port; an address that the object lacks stays invalid.
func (o object) endpoint(w *words, addrKey, portKey string) netip.AddrPort {
	var addr netip.Addr
	if text, ok := o[addrKey]; ok {
		addr = w.addr(addrKey, text)
	}
	return netip.AddrPortFrom(addr, w.port(portKey, o[portKey]))
}

func (o object) sizes(w *words, r *Response, sent, body, protocol, request string) {
	r.SentBytes = w.count(sent, o[sent], 63)
	r.BodyBytes = w.count(body, o[body], 63)
	r.Protocol = w.protocol(protocol, o[protocol])
	if text, ok := o[request]; ok {
		r.Request = uint32(w.count(request, text, 32))
	}
}
