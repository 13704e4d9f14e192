package accesslog

import "net/netip"

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
func decodeNginx(line string) (r Response, fault *Fault) {
	o, fault := parseObject(line, nginxKeys)
	if fault != nil {
		return r, fault
	}
	if r.Client, fault = o.endpoint("remote_addr", "remote_port"); fault != nil {
		return r, fault
	}
	if r.Server, fault = o.endpoint("server_addr", "server_port"); fault != nil {
		return r, fault
	}
	if r.EndUs, fault = wordSeconds("msec", o["msec"]); fault != nil {
		return r, fault
	}
	took, fault := wordSeconds("request_time", o["request_time"])
	if fault != nil {
		return r, fault
	}
	r.StartUs = r.EndUs - took
	r.Host = o["host"]
	return r, o.sizes(&r, "bytes_sent", "body_bytes_sent", "server_protocol", "connection_requests")
}

// endpoint joins an address and a port; an address that the object does not have
// stays invalid.
func (o object) endpoint(addrKey, portKey string) (netip.AddrPort, *Fault) {
	var addr netip.Addr
	if text, ok := o[addrKey]; ok {
		var fault *Fault
		if addr, fault = wordAddr(addrKey, text); fault != nil {
			return netip.AddrPort{}, fault
		}
	}
	port, fault := wordPort(portKey, o[portKey])
	return netip.AddrPortFrom(addr, port), fault
}

func (o object) sizes(r *Response, sent, body, protocol, request string) (fault *Fault) {
	if r.SentBytes, fault = wordCount(sent, o[sent], 63); fault != nil {
		return fault
	}
	if r.BodyBytes, fault = wordCount(body, o[body], 63); fault != nil {
		return fault
	}
	if r.Protocol, fault = wordProtocol(protocol, o[protocol]); fault != nil {
		return fault
	}
	if text, ok := o[request]; ok {
		n, fault := wordCount(request, text, 32)
		r.Request = uint32(n)
		return fault
	}
	return nil
}
