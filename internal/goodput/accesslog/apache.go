package accesslog

import (
	"net/netip"
	"strings"

	"github.com/congctl/congctl/internal/strict"
)

// Apache's "combined" lacks ports and has times of whole seconds, so eight words follow it,
// and a ninth if LogIOTrackTTFB is on:
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

func decodeApache(line string) (r Response, fault *strict.Fault) {
	list, fault := apacheSplit(line)
	if fault != nil {
		return r, fault
	}
	var w words
	word := func(i int) (name, s string) { return apacheNames[i], list[i] }
	count := func(i, bits int) uint64 { return w.count(apacheNames[i], list[i], bits) }
	r.Client = netip.AddrPortFrom(w.addr(word(apacheAddr)), w.port(word(apacheCombined)))
	r.Server = netip.AddrPortFrom(w.addr(word(apacheCombined+1)), w.port(word(apacheCombined+2)))
	if r.Host = list[apacheCombined+3]; r.Host == "-" {
		r.Host = ""
	}
	r.SentBytes = count(apacheCombined+4, 63)
	r.Request = uint32(count(apacheCombined+5, 31)) + 1 // %k counts the requests before this one
	r.EndUs = w.micros(word(apacheCombined + 6))
	r.StartUs = r.EndUs - w.micros(word(apacheCombined+7))
	if len(list) > apacheWords && list[apacheWords] != "-" {
		r.WaitUs = w.micros(word(apacheWords))
	}
	if list[apacheBody] != "-" { // %b of an empty body
		r.BodyBytes = count(apacheBody, 63)
	}
	r.Protocol = w.protocol("%r", apacheProtocol(list[apacheRequest]))
	return r, w.fault
}

// apacheProtocol is the last word of the request line, if it is an HTTP version.
func apacheProtocol(request string) string {
	last := request[strings.LastIndexByte(request, ' ')+1:]
	if !strings.HasPrefix(last, "HTTP/") {
		return ""
	}
	return last
}

// apacheSplit cuts a line into its words: plain, "quoted" with backslashes, or [bracketed].
func apacheSplit(line string) ([]string, *strict.Fault) {
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
			return nil, faultOf("", line, "more words than in the format", "use the LogFormat of docs/format/access-log.md")
		}
		rest = after[1:]
	}
	if len(w) < apacheWords {
		return nil, faultOf(apacheNames[len(w)], line, "missing", "use the LogFormat of docs/format/access-log.md")
	}
	return w, nil
}

func apacheWord(s string) (word, after string, fault *strict.Fault) {
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
