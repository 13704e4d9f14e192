package popday

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Response is one line of a run's responses, as its client saw it. Times are microseconds since
// the start of the day.
type Response struct {
	Network int    `json:"network"`  // number of the network in the facts
	Session int    `json:"session"`  // number of the session in the schedule
	Request int    `json:"request"`  // number within the session
	StartUs uint64 `json:"start_us"` // the client wants it: before the handshake, where there is one
	FirstUs uint64 `json:"first_us"` // its first byte is there
	EndUs   uint64 `json:"end_us"`   // its last byte is there, or it was given up
	Asked   uint64 `json:"asked_bytes"`
	Got     uint64 `json:"got_bytes"`
	Fresh   bool   `json:"fresh"` // the first one of its connection
	HTTP2   bool   `json:"http2"`
	// The edge's kernel when the last byte is there: congestion control, bytes sent and
	// retransmitted since the previous response, smallest round trip.
	Cong         string `json:"cong"`
	SentBytes    uint64 `json:"sent_bytes"`
	RetransBytes uint64 `json:"retrans_bytes"`
	MinRTTUs     uint32 `json:"min_rtt_us"`
	Trouble      string `json:"trouble,omitempty"` // why it is not whole
}

// LargeBytes is where a response counts as large: the threshold of the treatment.
const LargeBytes = 100_000

func (r *Response) large() bool { return r.Asked >= LargeBytes }

// whole reports whether all of it arrived, and took time.
func (r *Response) whole() bool { return r.Trouble == "" && r.Got == r.Asked && r.EndUs > r.StartUs }

// goodput returns bytes divided by the client's time, bytes/s.
func (r *Response) goodput() float64 { return float64(r.Got) / float64(r.EndUs-r.StartUs) * 1e6 }

const (
	maxLine   = 1 << 16 // bytes of a response: a trouble's text is the longest part
	leastLine = 128     // bytes: its keys alone have more, and "{}" decodes into fifty times its size
	fewLines  = 64      // may be shorter
)

// ReadResponses reads JSON lines. A line that is not a response of one of that many networks
// is an error that names its number; then nothing is returned.
func ReadResponses(in io.Reader, networks int) (all []Response, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	size := 0
	for n := 1; lines.Scan(); n++ {
		r, err := readResponse(lines.Bytes(), networks)
		if size += len(lines.Bytes()); err == nil && n > fewLines+size/leastLine {
			err = fmt.Errorf("so many in %d bytes: congctl did not write them", size)
		}
		if cut := lines.Err(); cut != nil { // this line's end was not read
			return nil, fmt.Errorf("read responses: %w", cut)
		} else if err != nil {
			return nil, fmt.Errorf("read response in line %d: %w", n, err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read responses: %w", err)
	}
	return all, nil
}

func readResponse(line []byte, networks int) (r Response, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("%.100s", err.Error()) // it quotes a key whole
	}
	switch {
	case d.More():
		return r, errors.New("more than one value")
	case r.Network < 0 || r.Network >= networks:
		return r, fmt.Errorf("network %d of %d", r.Network, networks)
	case r.Session < 0 || r.Request < 0:
		return r, fmt.Errorf("session %d, request %d", r.Session, r.Request)
	case r.EndUs < r.StartUs:
		return r, errors.New("it ends before it begins")
	case r.RetransBytes > r.SentBytes:
		return r, errors.New("more sent again than sent")
	}
	return r, nil
}
