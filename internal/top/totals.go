package top

import (
	"cmp"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Total adds up what runs one congestion control.
type Total struct {
	Cong         string  `json:"cong"`
	Networks     int     `json:"networks"`      // whose new responses run it in this block
	Connections  int     `json:"connections"`   // of this host, now
	BytesAcked   uint64  `json:"bytes_acked"`   // of those, in all their life
	BytesSent    uint64  `json:"bytes_sent"`    // the same
	BytesRetrans uint64  `json:"bytes_retrans"` // the same
	PerS         float64 `json:"-"`             // acknowledged between the last two dumps
}

// Totals adds up by congestion control, the one with the most connections first.
func Totals(s State, networks []Network, conns []Conn) []Total {
	by := map[string]*Total{}
	of := func(cong string) *Total {
		if by[cong] == nil {
			by[cong] = &Total{Cong: cong}
		}
		return by[cong]
	}
	for i := range networks {
		of(s.runs(&networks[i])).Networks++
	}
	for i := range conns {
		c := &conns[i]
		t := of(c.Cong)
		t.Connections++
		t.BytesAcked, t.BytesSent, t.BytesRetrans = t.BytesAcked+c.Acked, t.BytesSent+c.Sent, t.BytesRetrans+c.Retrans
		t.PerS += c.PerS
	}
	list := make([]Total, 0, len(by))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		list = append(list, *by[name])
	}
	slices.SortStableFunc(list, func(a, b Total) int {
		return cmp.Or(cmp.Compare(b.Connections, a.Connections), cmp.Compare(b.Networks, a.Networks))
	})
	return list
}

// runs is what new responses to a network run now: the treatment in a treated block, unless
// the kill switch is pulled or no process treats, else the host's default.
func (s *State) runs(n *Network) string {
	if n.Treatment != "" && n.Arm == record.ArmTreatment && s.Running && !s.Stopped {
		return n.Treatment
	}
	return s.Default
}
