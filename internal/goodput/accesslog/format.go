package accesslog

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/strict"
)

// Format is how a log's lines are written.
type Format string

const (
	NginxJSON Format = "nginx-json" // log_format of docs/format/access-log.md, one JSON object a line
	Apache    Format = "apache"     // combined, with eight or nine words more
	Lines     Format = "congctl"    // our own JSON lines
)

// decoder reads a line, and names the fields whose rules all formats share.
type decoder struct {
	decode          func(string) (Response, *strict.Fault)
	end, span, wait string
}

var decoders = map[Format]decoder{
	NginxJSON: {decodeNginx, "msec", "request_time", ""},
	Apache:    {decodeApache, "%{end:usec}t", "%D", "%^FB"},
	Lines:     {decodeLine, "end_us", "start_us", "wait_us"},
}

// ParseFormat reads a format's name.
func ParseFormat(s string) (Format, error) {
	if _, ok := decoders[Format(s)]; !ok {
		return "", fmt.Errorf("parse log format %q: use %s, %s or %s", s, NginxJSON, Apache, Lines)
	}
	return Format(s), nil
}

// MaxLine bounds a line, bytes: a request line of 8 kB, a referrer and an agent of 8 kB
// each, all escaped fourfold, do not reach it.
const MaxLine = 128 << 10

// Decode reads one line, without its newline. number is the line's, for the error.
// The error is a [*strict.Fault].
func (f Format) Decode(number int64, line []byte) (Response, error) {
	r, fault := f.decode(strings.TrimSuffix(string(line), "\r"))
	if fault == nil {
		fault = decoders[f].check(&r)
	}
	if fault != nil {
		fault.Line = int(number)
		return Response{}, fault
	}
	return r, nil
}

func (f Format) decode(line string) (Response, *strict.Fault) {
	d, ok := decoders[f]
	switch {
	case !ok:
		return Response{}, faultOf("format", string(f), "not a format", "")
	case len(line) > MaxLine:
		return Response{}, faultOf("", line, fmt.Sprintf("longer than %d bytes", MaxLine), "")
	}
	return d.decode(line)
}

const (
	minUnixUs  = 946684800e6  // the year 2000: before it the unit or the clock is wrong
	maxUnixUs  = 4102444800e6 // the year 2100
	maxHostLen = 255          // of a DNS name: a longer one is no tenant's
)

// check holds the rules for all formats. What a client can choose is cut to what it can be and
// never refused: how much the server meant to send before the client went, and the host's name.
func (d decoder) check(r *Response) *strict.Fault {
	switch span := r.EndUs - r.StartUs; {
	case r.EndUs < minUnixUs || r.EndUs > maxUnixUs:
		return faultOf(d.end, fmt.Sprint(r.EndUs), "not a time between the years 2000 and 2100 in microseconds", "check the field's unit")
	case span < 0:
		return faultOf(d.span, fmt.Sprint(r.StartUs), "after the end", "check that the duration is not negative")
	case r.StartUs < minUnixUs:
		return faultOf(d.span, fmt.Sprint(span), "longer than since the year 2000 in microseconds", "check the field's unit")
	case r.WaitUs > span+clockSlackUs:
		return faultOf(d.wait, fmt.Sprint(r.WaitUs), "longer than the response", "check the field's unit")
	}
	r.WaitUs = min(r.WaitUs, r.EndUs-r.StartUs) // two readings of a clock differ by a microsecond
	r.BodyBytes = min(r.BodyBytes, r.SentBytes)
	if len(r.Host) > maxHostLen {
		r.Host = ""
	}
	r.Host = strings.Clone(r.Host) // a part would keep its line of up to MaxLine bytes
	return nil
}
