package pop

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// Standing is how a host compares with its PoP in the latest window that closed.
type Standing struct {
	Share     float64 // of the PoP's connections, by what the hosts sent
	Counted   float64 // of its own connections, those that count
	BytesPerS float64 // its median rate
	Ratio     float64 // of that to the median of the hosts' medians, which one host cannot move; 0 is unknown
}

// cappedBelow: what a host loses in single networks, where a probe asks it and no other, is no news.
const cappedBelow = 0.9

// Capped reports whether the host sent more than one host may decide.
func (s Standing) Capped() bool { return s.Counted < cappedBelow }

// standing compares the hosts.
func (t *tally) standing(b bounds) map[string]Standing {
	conns := 0.0
	var medians []float64
	out := map[string]Standing{}
	for name, s := range t.hosts {
		st := Standing{Counted: 1, BytesPerS: s.rates.median()}
		if h := b[name]; h != nil {
			st.Counted = float64(min(h.all.n, h.all.most)) / float64(s.conns)
		}
		if st.BytesPerS > 0 {
			medians = append(medians, st.BytesPerS)
		}
		conns += float64(s.conns)
		out[name] = st
	}
	slices.Sort(medians)
	for name, st := range out {
		st.Share = float64(t.hosts[name].conns) / conns
		if len(medians) > 0 {
			st.Ratio = st.BytesPerS / stat.Sorted(medians, 0.5)
		}
		out[name] = st
	}
	return out
}

// tell keeps the hosts' standing, and tells of each that begins to be capped.
func (p *PoP) tell(now map[string]Standing) {
	p.mu.Lock()
	was := p.stands
	p.stands = now
	p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		before, known := was[name]
		if s := now[name]; s.Capped() && !(known && before.Capped()) {
			text := fmt.Sprintf("host %s sent %.0f %% of the PoP's connections: %.2g %% of what it sent counts, since one host may not outweigh the others. "+
				"Its median rate is %.2g times that of the PoP's hosts", name, 100*s.Share, 100*s.Counted, s.Ratio)
			p.log.Warn(text)
			_ = p.round.Tell(context.Background(), KindCapped, text) // the log has it at least
		}
	}
}

// KindCapped is an event's: a host outweighs the others.
const KindCapped = "host-capped"

// Standings returns the hosts' standing in the latest window that closed.
func (p *PoP) Standings() map[string]Standing {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.stands)
}
