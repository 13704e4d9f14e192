package paperhost

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/core/advise"
)

// socket reads a count of connections, or one of them as evidence:
//
//	cubic 12
//	bbr 3 paced
//	192.0.2.1:443 203.0.113.7:51000 bbr pacing 3125000 rtt 48250 cwnd 64 bw 2600000 mrtt 41000 pacing_gain 256 cwnd_gain 512
//
// Rates are bytes per second, times microseconds, gains of 256 are 1.0. The evidence is
// one of those that are counted.
func (p *Paper) socket(line string) error {
	w := strings.Fields(line)
	if len(w) > 3 {
		return p.sample(w)
	}
	if len(w) < 2 {
		return fmt.Errorf("use CONGESTION-CONTROL COUNT")
	}
	n, err := strconv.Atoi(w[1])
	if err != nil {
		return err
	}
	p.sockets.ByCong[w[0]] += n
	switch {
	case len(w) == 3 && w[2] == "paced":
		p.sockets.Paced += n
	case w[0] == "bbr":
		p.sockets.Unpaced += n
	}
	return nil
}

func (p *Paper) sample(w []string) error {
	s := advise.Socket{Local: w[0], Remote: w[1], Cong: w[2]}
	var bbr advise.BBR
	err := eachWord(w[3:], func(word, value string) (bool, error) {
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return true, err
		}
		switch word {
		case "pacing":
			s.PacingRate = n
		case "rtt":
			s.RttUs = uint32(n)
		case "cwnd":
			s.Cwnd = uint32(n)
		case "bw":
			bbr.BwBytesPerS = n
		case "mrtt":
			bbr.MinRttUs = uint32(n)
		case "pacing_gain":
			bbr.PacingGain = uint32(n)
		case "cwnd_gain":
			bbr.CwndGain = uint32(n)
		default:
			return true, fmt.Errorf("unknown word")
		}
		return true, nil
	})
	if bbr != (advise.BBR{}) {
		s.BBR = &bbr
	}
	p.sockets.Samples = append(p.sockets.Samples, s)
	return err
}
