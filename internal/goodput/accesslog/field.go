package accesslog

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/strict"
)

// words reads single words of a line. Its first fault, which names the field, stands; what
// is read after it means nothing.
type words struct{ fault *strict.Fault }

func (w *words) fail(field, value, problem, fix string) {
	if w.fault == nil {
		w.fault = faultOf(field, value, problem, fix)
	}
}

func (w *words) addr(field, s string) netip.Addr {
	a, err := netip.ParseAddr(s)
	if err != nil {
		fix := "log the address of the TCP connection, not a name"
		if strings.HasPrefix(s, "unix:") {
			fix = "a connection over a unix socket comes from a proxy: log on the host that ends the TCP connection"
		}
		w.fail(field, s, "not an address", fix)
	}
	return a.Unmap().WithZone("") // Apache names a link-local client's link
}

func (w *words) port(field, s string) uint16 {
	v, err := strconv.ParseUint(s, 10, 16)
	if err != nil || v == 0 {
		w.fail(field, s, "not a port from 1 to 65535", "")
	}
	return uint16(v)
}

func (w *words) count(field, s string, bits int) uint64 {
	v, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		w.fail(field, s, "not a whole number", "")
	}
	return v
}

// micros reads whole microseconds.
func (w *words) micros(field, s string) int64 {
	v, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		w.fail(field, s, "not a whole number of microseconds", "")
	}
	return int64(v)
}

// seconds reads decimal seconds, as in 1795176000.123, as microseconds without the rounding of
// a float: a Unix time has 16 digits of them.
func (w *words) seconds(field, s string) int64 {
	whole, frac, _ := strings.Cut(s, ".")
	sec, err := strconv.ParseUint(whole, 10, 63)
	us, err2 := strconv.ParseUint((frac + "000000")[:6], 10, 63)
	if err != nil || err2 != nil || len(frac) > 6 || sec > maxUnixUs/1e6 {
		w.fail(field, s, "not seconds with at most six decimals", "")
	}
	return int64(sec*1e6 + us)
}

// protocol: a request that no server understands (a TLS handshake on a plain
// port, a scanner) has no version, and is answered in HTTP/1, as is HTTP/1.2 or HTTP/9.1.
func (w *words) protocol(field, s string) Protocol {
	p, known := protocols[s]
	if !known && s != "" && !strings.HasPrefix(s, "HTTP/") {
		w.fail(field, s, "not an HTTP version", "as in HTTP/1.1 or HTTP/2.0")
	}
	return p
}
