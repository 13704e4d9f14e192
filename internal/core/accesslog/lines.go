package accesslog

import (
	"encoding/json"
	"net/netip"
)

var lineKeys = []key{
	{name: "start_us"}, {name: "end_us"}, {name: "wait_us", optional: true},
	{name: "client"}, {name: "client_port"}, {name: "server", optional: true}, {name: "server_port"}, {name: "host", optional: true},
	{name: "sent_bytes"}, {name: "body_bytes"}, {name: "protocol"}, {name: "request", optional: true},
}

// decodeLine reads our own format: what a server of one's own can write with
// microseconds and without guessing.
func decodeLine(line string) (r Response, fault *Fault) {
	o, fault := parseObject(line, lineKeys)
	if fault != nil {
		return r, fault
	}
	if r.Client, fault = o.endpoint("client", "client_port"); fault != nil {
		return r, fault
	}
	if r.Server, fault = o.endpoint("server", "server_port"); fault != nil {
		return r, fault
	}
	if r.StartUs, fault = wordMicros("start_us", o["start_us"]); fault != nil {
		return r, fault
	}
	if r.EndUs, fault = wordMicros("end_us", o["end_us"]); fault != nil {
		return r, fault
	}
	if text, ok := o["wait_us"]; ok {
		if r.WaitUs, fault = wordMicros("wait_us", text); fault != nil {
			return r, fault
		}
	}
	r.Host = o["host"]
	return r, o.sizes(&r, "sent_bytes", "body_bytes", "protocol", "request")
}

// line is a response as decodeLine reads it.
type line struct {
	StartUs    int64  `json:"start_us"`
	EndUs      int64  `json:"end_us"`
	WaitUs     int64  `json:"wait_us,omitempty"`
	Client     string `json:"client"`
	ClientPort uint16 `json:"client_port"`
	Server     string `json:"server,omitempty"`
	ServerPort uint16 `json:"server_port"`
	Host       string `json:"host,omitempty"`
	SentBytes  uint64 `json:"sent_bytes"`
	BodyBytes  uint64 `json:"body_bytes"`
	Protocol   string `json:"protocol"`
	Request    uint32 `json:"request,omitempty"`
}

// AppendLine appends r in our own format, with a newline.
func AppendLine(b []byte, r *Response) []byte {
	text, _ := json.Marshal(line{ // no field of it can fail
		StartUs: r.StartUs, EndUs: r.EndUs, WaitUs: r.WaitUs, Client: addrText(r.Client.Addr()), ClientPort: r.Client.Port(),
		Server: addrText(r.Server.Addr()), ServerPort: r.Server.Port(), Host: r.Host,
		SentBytes: r.SentBytes, BodyBytes: r.BodyBytes, Protocol: r.Protocol.String(), Request: r.Request,
	})
	return append(append(b, text...), '\n')
}

func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
