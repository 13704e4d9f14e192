package accesslog

import "github.com/congctl/congctl/internal/strict"

var lineKeys = []key{
	{name: "start_us"}, {name: "end_us"}, {name: "wait_us", optional: true},
	{name: "client"}, {name: "client_port"}, {name: "server", optional: true}, {name: "server_port"}, {name: "host", optional: true},
	{name: "sent_bytes"}, {name: "body_bytes"}, {name: "protocol"}, {name: "request", optional: true},
}

// decodeLine reads our own format: what a user's own server can write with microseconds and
// without guessing.
func decodeLine(line string) (r Response, fault *strict.Fault) {
	o, fault := parseObject(line, lineKeys)
	if fault != nil {
		return r, fault
	}
	var w words
	r.Client = o.endpoint(&w, "client", "client_port")
	r.Server = o.endpoint(&w, "server", "server_port")
	r.StartUs = w.micros("start_us", o["start_us"])
	r.EndUs = w.micros("end_us", o["end_us"])
	if text, ok := o["wait_us"]; ok {
		r.WaitUs = w.micros("wait_us", text)
	}
	r.Host = o["host"]
	o.sizes(&w, &r, "sent_bytes", "body_bytes", "protocol", "request")
	return r, w.fault
}
