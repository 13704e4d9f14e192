//go:build !small

package main

import (
	"cmp"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

func (p *popOffice) status() FleetStatus {
	s := p.Hosts()
	f := FleetStatus{PoP: p.cfg.PoP, Stage: string(s.Stage), Plan: s.Base.Serial, Next: s.Next.Serial, Stopped: s.Killed, Hosts: []FleetHost{}}
	stands := p.Standings()
	for _, name := range slices.Sorted(maps.Keys(s.Hosts)) {
		h, st := s.Hosts[name], stands[name]
		f.Hosts = append(f.Hosts, FleetHost{Host: name, Connected: h.Connected, Version: h.Version, Tier: h.Tier, BBR: h.BBR, Plan: h.Serial, InForce: h.Prefixes, Stopped: h.Stopped, Astray: h.Astray,
			Share: st.Share, Counted: st.Counted, Capped: st.Share > 0 && st.Capped(), BytesPerS: st.BytesPerS, Ratio: st.Ratio})
	}
	slices.SortStableFunc(f.Hosts, outOfLine)
	return f
}

// outOfLine orders hosts: first what is capped, then by share.
func outOfLine(a, b FleetHost) int {
	return cmp.Or(record.CompareBool(b.Capped, a.Capped), cmp.Compare(b.Share, a.Share))
}
