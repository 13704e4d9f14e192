package inspect

import (
	"slices"

	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/linux/sample"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// Sockets counts the connections of this network namespace. It needs no privilege.
func (local) Sockets() (advise.Sockets, error) {
	d, err := sample.Open("")
	if err != nil {
		return advise.Sockets{}, err
	}
	defer d.Close()
	return countSockets(func(visit func(*inetdiag.Sock)) error {
		_, err := d.Dump(inetdiag.Request{States: 1 << inetdiag.StateEstablished, Ext: inetdiag.ExtPoll}, visit)
		return err
	})
}

// maxSamples of connections are enough to show.
const maxSamples = 5

func countSockets(dump func(func(*inetdiag.Sock)) error) (advise.Sockets, error) {
	c := counter{Sockets: advise.Sockets{ByCong: map[string]int{}}, seen: map[uint64]bool{}}
	err := dump(c.add)
	return c.Sockets, err
}

type counter struct {
	advise.Sockets
	seen map[uint64]bool // cookies: a dump that was interrupted comes twice
}

func (c *counter) add(s *inetdiag.Sock) {
	if s.Remote.Addr().Unmap().IsLoopback() || c.seen[s.Cookie] || s.Has&inetdiag.HasCong == 0 {
		return
	}
	c.seen[s.Cookie] = true
	cong := s.Cong.String()
	c.ByCong[cong]++
	if advise.IsBBR(cong) {
		if paced(s.Info.PacingRate) {
			c.Paced++
		} else {
			c.Unpaced++
		}
	}
	o := advise.Socket{Local: s.Local.String(), Remote: s.Remote.String(), Cong: cong,
		PacingRate: s.Info.PacingRate, RttUs: s.Info.RttUs, CwndSegment: s.Info.SndCwnd}
	if s.Has&inetdiag.HasBBR != 0 {
		o.State = advise.BBRState(s.BBR)
	}
	c.keep(o)
}

// paced: a rate of 0 or of all ones means none.
func paced(rate uint64) bool { return rate != 0 && rate != ^uint64(0) }

// keep holds a few samples, connections of BBR before any other.
func (c *counter) keep(s advise.Socket) {
	c.Samples = append(c.Samples, s)
	slices.SortStableFunc(c.Samples, func(a, b advise.Socket) int { return min(len(b.State), 1) - min(len(a.State), 1) })
	c.Samples = c.Samples[:min(len(c.Samples), maxSamples)]
}
