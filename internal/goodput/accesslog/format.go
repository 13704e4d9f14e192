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

var decoders = map[Format]func(string) (Response, *strict.Fault){
	NginxJSON: decodeNginx, Apache: decodeApache, Lines: decodeLine,
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
		fault = r.check()
	}
	if fault != nil {
		fault.Line = int(number)
		return Response{}, fault
	}
	return r, nil
}

func (f Format) decode(line string) (Response, *strict.Fault) {
	decode := decoders[f]
	switch {
	case decode == nil:
		return Response{}, faultOf("format", string(f), "not a format", "")
	case len(line) > MaxLine:
		return Response{}, faultOf("", line, fmt.Sprintf("longer than %d bytes", MaxLine), "")
	}
	return decode(line)
}

// Bounds of a response's time.
const (
	minUnixUs  = 946684800e6  // the year 2000: before it the unit or the clock is wrong
	maxUnixUs  = 4102444800e6 // the year 2100
	maxSpanUs  = 48 * 3600e6  // longer than any server lets a response last
	maxHostLen = 255          // of a DNS name
)

// check holds the rules for all formats.
func (r *Response) check() *strict.Fault {
	switch {
	case r.EndUs < minUnixUs || r.EndUs > maxUnixUs:
		return faultOf("end", fmt.Sprint(r.EndUs), "not a time between the years 2000 and 2100 in microseconds", "check the field's unit")
	case r.StartUs > r.EndUs:
		return faultOf("start", fmt.Sprint(r.StartUs), "after the end", "check that the duration is not negative")
	case r.EndUs-r.StartUs > maxSpanUs:
		return faultOf("duration", fmt.Sprint(r.EndUs-r.StartUs), "longer than 48 h", "check the field's unit")
	case r.WaitUs < 0 || r.WaitUs > r.EndUs-r.StartUs:
		return faultOf("wait", fmt.Sprint(r.WaitUs), "not within the response's time", "")
	case len(r.Host) > maxHostLen:
		return faultOf("host", r.Host, "longer than 255 bytes", "")
	case r.Client.Port() == 0:
		return faultOf("client port", "0", "no port", "log the port of the TCP connection")
	case r.Server.Port() == 0:
		return faultOf("server port", "0", "no port", "log the port that the connection was accepted on")
	}
	return nil
}
