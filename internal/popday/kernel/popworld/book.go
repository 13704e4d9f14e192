package popworld

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"github.com/congctl/congctl/internal/popday"
)

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

func (b *book) add(r *popday.Response) {
	text := appendLine(make([]byte, 0, 256), r)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line{r.Session, r.Request, text})
	if r.Asked >= popday.LargeBytes {
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

// appendLine writes r as JSON. encoding/json takes ten times the instructions.
func appendLine(b []byte, r *popday.Response) []byte {
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
