package accesslog

import (
	"net/netip"
	"strings"
)

// Apache's "combined" lacks ports and has times of whole seconds, so eight words
// follow it, and a ninth where LogIOTrackTTFB is on:
//
//	%a %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i" %{remote}p %A %{local}p %v %O %k %{end:usec}t %D [%^FB]
const (
	apacheAddr     = 0
	apacheRequest  = 4
	apacheBody     = 6
	apacheCombined = 9
	apacheWords    = apacheCombined + 8
)

var apacheNames = [...]string{"%a", "%l", "%u", "%t", "%r", "%>s", "%b", "%{Referer}i", "%{User-agent}i",
	"%{remote}p", "%A", "%{local}p", "%v", "%O", "%k", "%{end:usec}t", "%D", "%^FB"}

func decodeApache(line string) (r Response, fault *Fault) {
	w, fault := apacheSplit(line)
	if fault != nil {
		return r, fault
	}
	word := func(i int) (string, string) { return apacheNames[i], w[i] }
	if r.Client, fault = apacheEndpoint(w, apacheAddr, apacheCombined); fault != nil {
		return r, fault
	}
	if r.Server, fault = apacheEndpoint(w, apacheCombined+1, apacheCombined+2); fault != nil {
		return r, fault
	}
	if r.Host = w[apacheCombined+3]; r.Host == "-" {
		r.Host = ""
	}
	if r.SentBytes, fault = count63(word(apacheCombined + 4)); fault != nil {
		return r, fault
	}
	earlier, fault := wordCount("%k", w[apacheCombined+5], 31)
	if fault != nil {
		return r, fault
	}
	r.Request = uint32(earlier) + 1 // %k counts the requests before this one
	if fault = apacheTimes(&r, w); fault != nil {
		return r, fault
	}
	if body := w[apacheBody]; body != "-" { // %b of an empty body
		if r.BodyBytes, fault = count63("%b", body); fault != nil {
			return r, fault
		}
	}
	r.Protocol, fault = apacheProtocol(w[apacheRequest])
	return r, fault
}

func count63(field, s string) (uint64, *Fault) { return wordCount(field, s, 63) }

func apacheEndpoint(w []string, addrAt, portAt int) (netip.AddrPort, *Fault) {
	addr, fault := wordAddr(apacheNames[addrAt], w[addrAt])
	if fault != nil {
		return netip.AddrPort{}, fault
	}
	port, fault := wordPort(apacheNames[portAt], w[portAt])
	return netip.AddrPortFrom(addr, port), fault
}

func apacheTimes(r *Response, w []string) (fault *Fault) {
	if r.EndUs, fault = wordMicros("%{end:usec}t", w[apacheCombined+6]); fault != nil {
		return fault
	}
	took, fault := wordMicros("%D", w[apacheCombined+7])
	if fault != nil {
		return fault
	}
	if r.StartUs = r.EndUs - took; len(w) == apacheWords || w[apacheWords] == "-" {
		return nil
	}
	r.WaitUs, fault = wordMicros("%^FB", w[apacheWords])
	return fault
}

// apacheProtocol is the last word of the request line, where it is an HTTP version.
func apacheProtocol(request string) (Protocol, *Fault) {
	last := request[strings.LastIndexByte(request, ' ')+1:]
	if !strings.HasPrefix(last, "HTTP/") {
		last = ""
	}
	return wordProtocol("%r", last)
}

// apacheSplit cuts a line into its words: plain, "quoted" with backslashes, or [bracketed].
func apacheSplit(line string) ([]string, *Fault) {
	w := make([]string, 0, apacheWords+1)
	for rest := line; ; {
		word, after, fault := apacheWord(rest)
		if fault != nil {
			return nil, fault
		}
		w = append(w, word)
		if after == "" {
			break
		}
		if after[0] != ' ' || len(w) > apacheWords {
			return nil, faultOf("", line, "more words than the format has", "take the LogFormat of docs/format/access-log.md")
		}
		rest = after[1:]
	}
	if len(w) < apacheWords {
		return nil, faultOf(apacheNames[len(w)], line, "missing", "take the LogFormat of docs/format/access-log.md")
	}
	return w, nil
}

func apacheWord(s string) (word, after string, fault *Fault) {
	switch {
	case strings.HasPrefix(s, "\""):
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '"':
				return s[1:i], s[i+1:], nil
			}
		}
		return "", "", faultOf("", s, "quote does not end", "")
	case strings.HasPrefix(s, "["):
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", "", faultOf("%t", s, "bracket does not end", "")
		}
		return s[1:end], s[end+1:], nil
	}
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return s[:i], s[i:], nil
	}
	return s, "", nil
}
