package accesslog

// HTTP/2 sends several responses over one connection at the same time. The time of one is
// then shared with others, and says nothing about the path. So responses that overlap on one
// connection are joined into one burst:
//
//	goodput = bytes of all / time in which at least one was under way
//
// The kernel's program, too, takes what follows without a pause for one response. A stream
// whose line comes after its burst is out (a long one that outlives a window) is left out
// and counted: its bytes travelled in time that is booked.
//
// In HTTP/1 responses of a connection follow each other. Two that touch or overlap
// by the rounding of a millisecond stay two.

// join returns the bursts of one life; list is in order of the start.
func (m *Matcher) join(l *life, list []Response) (out []Matched) {
	for _, r := range list {
		if r.Protocol == HTTP2 && r.StartUs < l.joined {
			if n := len(out); n > 0 && r.StartUs < out[n-1].EndUs {
				out[n-1].add(&r)
				l.joined = max(l.joined, r.EndUs)
				continue
			}
			m.tally.count(Overlap)
			continue
		}
		out = append(out, Matched{Response: r, Streams: 1})
		l.joined = max(l.joined, r.EndUs)
	}
	return out
}

// add joins a stream to the burst. It drops the server's response time: while one stream
// waited another may have sent.
func (b *Matched) add(r *Response) {
	b.EndUs = max(b.EndUs, r.EndUs)
	b.SentBytes += r.SentBytes
	b.BodyBytes += r.BodyBytes
	b.WaitUs = 0
	b.Streams++
}
