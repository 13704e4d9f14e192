package pop

// The requests and their times. Sessions of a network are two Poisson processes: fetches,
// which have responses long enough to be treated, and pages of small ones. A fetch begins
// with a small response, as a page does before its video; flows of one client begin at once, each
// on a connection of its own. The schedule is open: a session
// begins at its time, however slow the ones before it are.

// sessionsOf returns those of one network in a whole day, drawn from a stream of dice.
func sessionsOf(d *Day, t *Traffic, network, stream int, seed uint64) []Session {
	fetches := arrivals(d, t.FetchesPPM, newDice(seed, stream, streamFetches), func(r *dice) (flows []Session) {
		host, http2 := r.below(Hosts), r.chance(t.HTTP2PPM)
		for range t.Flows {
			s := Session{Network: network, Host: host, HTTP2: http2}
			s.ask(0, r.size(t.Small))
			for range t.Larges {
				s.ask(r.wait(float64(t.ThinkUs)), r.size(t.Large))
			}
			flows = append(flows, s)
		}
		return flows
	})
	pages := arrivals(d, t.PagesPPM, newDice(seed, stream, streamPages), func(r *dice) []Session {
		s := Session{Network: network, Host: r.below(Hosts), HTTP2: r.chance(t.HTTP2PPM)}
		s.ask(0, r.size(t.Small))
		for range t.Smalls - 1 {
			s.ask(r.wait(float64(t.ThinkUs)), r.size(t.Small))
		}
		return []Session{s}
	})
	return append(fetches, pages...)
}

func (s *Session) ask(waitUs float64, bytes uint64) {
	s.Requests = append(s.Requests, Request{uint64(waitUs), bytes})
}

// arrivals of a Poisson process with so many in a window.
func arrivals(d *Day, perWindowPPM uint64, r *dice, next func(*dice) []Session) (out []Session) {
	if perWindowPPM == 0 {
		return nil
	}
	mean := float64(d.WindowUs) * 1e6 / float64(perWindowPPM)
	for at := r.wait(mean); at < float64(d.LengthUs); at += r.wait(mean) {
		for _, s := range next(r) {
			s.AtUs = uint64(at)
			out = append(out, s)
		}
	}
	return out
}
