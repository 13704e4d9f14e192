package main

import (
	"net/netip"
	"time"
)

// response is what the server wrote down about one response, read back from the
// kernel when the client had acknowledged its last byte. The server prints one as
// a JSON line.
type response struct {
	Remote  netip.Addr `json:"remote"`
	Cookie  uint64     `json:"cookie"`  // of the socket, the kernel's
	Proto   string     `json:"proto"`   // HTTP/1.1 or HTTP/2.0
	Bytes   int        `json:"bytes"`   // of the body
	Earlier int        `json:"earlier"` // largest body that went over this connection before

	Start  int64  `json:"start_ns"` // Unix time of the request
	End    int64  `json:"end_ns"`   // Unix time of the last acknowledgement
	Before string `json:"before"`   // TCP_CONGESTION at Start
	After  string `json:"after"`    // TCP_CONGESTION at End
	Whole  bool   `json:"whole"`    // all of it was sent and acknowledged

	RateBytesPerS uint64 `json:"rate_bytes_per_s"` // TCP_INFO's delivery_rate at End
	SentBytes     uint64 `json:"sent_bytes"`       // of the connection so far
	RetransBytes  uint64 `json:"retrans_bytes"`
	MinRTTUs      uint32 `json:"min_rtt_us"`
}

// minBytes is the length from which a response is treated: the product's default.
const minBytes = 100_000

func (r *response) large() bool { return r.Bytes >= minBytes }

// first reports whether no large response went over the connection before: only
// then does its congestion control say what was decided for this response, since
// a connection that was switched stays switched.
func (r *response) first() bool { return r.Earlier < minBytes }

// goodput is the response over its time, bytes/s.
func (r *response) goodput() float64 {
	if r.End <= r.Start {
		return 0
	}
	return float64(r.Bytes) / (time.Duration(r.End - r.Start).Seconds())
}
