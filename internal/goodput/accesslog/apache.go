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
	apacheTime     = 3
	apacheRequest  = 4
	apacheBody     = 6
	apacheCombined = 9
	apacheWords    = apacheCombined + 8
)

var apacheNames = [...]string{"%a", "%l", "%u", "%t", "%r", "%>s", "%b", "%{Referer}i", "%{User-agent}i",
	"%{remote}p", "%A", "%{local}p", "%v", "%O", "%k", "%{end:usec}t", "%D", "%^FB"}

const useLogFormat = "use the LogFormat of docs/format/access-log.md"

func decodeApache(line string) (r Response, fault *strict.Fault) {
	list, fault := apacheSplit(line)
	if fault != nil {
		return r, fault
	}
	w := apacheLine{list: list}
	client := w.addr(w.at(apacheAddr))
	r.Protocol = w.protocol("%r", apacheProtocol(w.quoted(apacheRequest)))
	if name, s := w.at(apacheBody); s != "-" { // %b of an empty body
		r.BodyBytes = w.count(name, s, 63)
	}
	w.quoted(apacheBody + 1)
	w.quoted(apacheBody + 2)
	r.Client = netip.AddrPortFrom(client, w.port(w.at(apacheCombined)))
	r.Server = netip.AddrPortFrom(w.addr(w.at(apacheCombined+1)), w.port(w.at(apacheCombined+2)))
	if _, r.Host = w.at(apacheCombined + 3); r.Host == "-" {
		r.Host = ""
	}
	r.SentBytes = w.number(apacheCombined+4, 63)
	r.Request = uint32(w.number(apacheCombined+5, 31)) + 1 // %k counts the requests before this one
	r.EndUs = w.micros(w.at(apacheCombined + 6))
	r.StartUs = r.EndUs - w.micros(w.at(apacheCombined+7))
	if len(list) > apacheWords && list[apacheWords] != "-" {
		r.WaitUs = w.micros(w.at(apacheWords))
	}
	if len(list) > apacheWords+1 {
		w.fail("", line, "more words than in the format", useLogFormat)
	}
	return r, w.fault
}

// apacheLine is read from its begin to its end, so that the first fault is where it leaves the
// format.
type apacheLine struct {
	words
	list []string
}

func (l *apacheLine) at(i int) (name, s string) {
	if i >= len(l.list) {
		l.fail(apacheNames[i], "", "missing", useLogFormat)
		return apacheNames[i], ""
	}
	return apacheNames[i], l.list[i]
}

func (l *apacheLine) number(i, bits int) uint64 {
	name, s := l.at(i)
	return l.count(name, s, bits)
}

// quoted returns what is between the quotes; "-" may stand without them.
func (l *apacheLine) quoted(i int) string {
	name, s := l.at(i)
	if s != "-" && !strings.HasPrefix(s, `"`) {
		l.fail(name, s, "not in quotes", useLogFormat)
	}
	return strings.Trim(s, `"`)
}

// apacheProtocol is the last word of the request line, if it is an HTTP version.
func apacheProtocol(request string) string {
	last := request[strings.LastIndexByte(request, ' ')+1:]
	if !strings.HasPrefix(last, "HTTP/") {
		return ""
	}
	return last
}

// apacheSplit cuts a line into its words: plain, "quoted" with backslashes, or the [bracketed]
// time. Its second and third are left empty: %l and %u stand without quotes, and %u is what a
// client wrote into its Authorization, with any space and bracket. Apache escapes its quotes. So
// the first quote after a space begins the request, but in the "" of an empty name, and the
// bracket before it ends the time.
func apacheSplit(line string) ([]string, *strict.Fault) {
	addr, rest, _ := strings.Cut(line, " ")
	rest = strings.Replace(rest, ` "" [`, " - [", 1)
	head, _, _ := strings.Cut(rest, ` "`)
	begin, end := strings.LastIndexByte(head, '['), strings.LastIndexByte(head, ']')
	if begin < 0 || end < begin {
		return nil, faultOf(apacheNames[apacheTime], head, "no time in brackets", useLogFormat)
	}
	w := append(make([]string, 0, apacheWords+2), addr, "", "", head[begin:end+1])
	for rest = rest[end+1:]; rest != "" && len(w) <= apacheWords+1; {
		word, after, fault := apacheWord(rest, apacheNames[min(len(w), apacheWords)])
		if fault != nil {
			return nil, fault
		}
		w, rest = append(w, word), after
	}
	return w, nil
}

// apacheWord cuts off a space and a word, with its quotes.
func apacheWord(s, name string) (word, after string, fault *strict.Fault) {
	if s[0] != ' ' {
		return "", "", faultOf(name, s, "no space before it", useLogFormat)
	}
	if s = s[1:]; !strings.HasPrefix(s, `"`) {
		n := strings.IndexByte(s, ' ')
		if n < 0 {
			n = len(s)
		}
		return s[:n], s[n:], nil
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[:i+1], s[i+1:], nil
		}
	}
	return "", "", faultOf(name, s, "quote does not end", "")
}
