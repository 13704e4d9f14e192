package accesslog

import (
	"net/netip"
	"strconv"
	"strings"
)

// What single words of a line are read by. Each gives a fault that names its field.

func wordAddr(field, s string) (netip.Addr, *Fault) {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		fix := "log the address of the TCP connection, not a name"
		if strings.HasPrefix(s, "unix:") {
			fix = "connections over a unix socket come from a proxy: log where TCP ends"
		}
		return a, faultOf(field, s, "not an address", fix)
	}
	return a.Unmap(), nil
}

func wordPort(field, s string) (uint16, *Fault) {
	v, err := strconv.ParseUint(s, 10, 16)
	if err != nil || v == 0 {
		return 0, faultOf(field, s, "not a port from 1 to 65535", "")
	}
	return uint16(v), nil
}

func wordCount(field, s string, bits int) (uint64, *Fault) {
	v, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		return 0, faultOf(field, s, "not a whole number", "")
	}
	return v, nil
}

// wordMicros reads whole microseconds.
func wordMicros(field, s string) (int64, *Fault) {
	v, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, faultOf(field, s, "not a whole number of microseconds", "")
	}
	return int64(v), nil
}

// wordSeconds reads decimal seconds, as in 1795176000.123, without the rounding of
// a float: a Unix time has 16 digits of microseconds.
func wordSeconds(field, s string) (int64, *Fault) {
	whole, frac, _ := strings.Cut(s, ".")
	sec, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || len(frac) > 6 || sec > maxUnixUs/1e6 {
		return 0, faultOf(field, s, "not seconds with at most six decimals", "")
	}
	us, err := strconv.ParseUint((frac + "000000")[:6], 10, 63)
	if err != nil {
		return 0, faultOf(field, s, "not seconds with at most six decimals", "")
	}
	return int64(sec*1e6 + us), nil
}

// wordProtocol: a request that no server understands (a TLS handshake on a plain
// port, a scanner) has no version, and is answered by a small error in HTTP/1.
func wordProtocol(field, s string) (Protocol, *Fault) {
	if s == "" {
		return HTTP1, nil
	}
	p, ok := parseProtocol(s)
	if !ok {
		return 0, faultOf(field, s, "not an HTTP version", "as in HTTP/1.1 or HTTP/2.0")
	}
	return p, nil
}
