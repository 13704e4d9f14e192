package pop

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
)

// Response is one response as its client saw it. Times are microseconds since the
// day's first moment.
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
	// What the edge's kernel says when the last byte is there: congestion control, bytes
	// sent and sent again since the response before, least round trip.
	Cong         string `json:"cong"`
	SentBytes    uint64 `json:"sent_bytes"`
	RetransBytes uint64 `json:"retrans_bytes"`
	MinRTTUs     uint32 `json:"min_rtt_us"`
	Trouble      string `json:"trouble,omitempty"` // why it is not whole
}

// book keeps responses as JSON lines: a struct for each would be ten times the memory.
type book struct {
	mu      sync.Mutex // guards all below
	lines   []line
	large   int
	trouble int
}

type line struct {
	session, request int
	text             []byte
}

const largeBytes = 100_000

func (b *book) add(r *Response) {
	text := r.append(make([]byte, 0, 256))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line{r.Session, r.Request, text})
	if r.Asked >= largeBytes {
		b.large++
	}
	if r.Trouble != "" {
		b.trouble++
	}
}

func (b *book) count() (all, large, trouble int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.lines), b.large, b.trouble
}

// text is the whole book, in the order of the schedule: the same for every policy.
func (b *book) text() (out []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortFunc(b.lines, func(x, y line) int {
		return cmp.Or(cmp.Compare(x.session, y.session), cmp.Compare(x.request, y.request))
	})
	for _, l := range b.lines {
		out = append(append(out, l.text...), '\n')
	}
	return out
}

// append writes r as JSON. encoding/json takes ten times the instructions.
func (r *Response) append(b []byte) []byte {
	field := func(name string, v uint64) {
		b = append(b, ',', '"')
		b = append(b, name...)
		b = append(b, '"', ':')
		b = strconv.AppendUint(b, v, 10)
	}
	b = append(b, `{"network":`...)
	b = strconv.AppendInt(b, int64(r.Network), 10)
	field("session", uint64(r.Session))
	field("request", uint64(r.Request))
	field("start_us", r.StartUs)
	field("first_us", r.FirstUs)
	field("end_us", r.EndUs)
	field("asked_bytes", r.Asked)
	field("got_bytes", r.Got)
	b = strconv.AppendBool(append(b, `,"fresh":`...), r.Fresh)
	b = strconv.AppendBool(append(b, `,"http2":`...), r.HTTP2)
	b = strconv.AppendQuote(append(b, `,"cong":`...), r.Cong)
	field("sent_bytes", r.SentBytes)
	field("retrans_bytes", r.RetransBytes)
	field("min_rtt_us", uint64(r.MinRTTUs))
	if r.Trouble != "" {
		text, _ := json.Marshal(r.Trouble) // of a string: cannot fail
		b = append(append(b, `,"trouble":`...), text...)
	}
	return append(b, '}')
}
