package paperhosttest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// words reads names, each with the value after it unless it is a switch, into fields.
func words(w []string, fields map[string]any) (err error) {
	for i := 0; i < len(w) && err == nil; i++ {
		name, value := w[i], ""
		if on, is := fields[name].(*bool); is {
			*on = true
			continue
		}
		if i++; i < len(w) {
			value = w[i]
		}
		switch to := fields[name].(type) {
		case nil:
			err = fmt.Errorf("unknown word")
		case *string:
			*to = value
		case *handle:
			err = to.parse(value)
		default:
			err = json.Unmarshal([]byte(value), to)
		}
		if err != nil {
			err = fmt.Errorf("%s %s: %w", name, value, err)
		}
	}
	return err
}

// link reads a link, or, indented, a qdisc of the last one:
//
//	eth0 up queues 1 speed 1000 kind veth hardware loopback tso gso
//	    qdisc mq 0: root
//	    qdisc fq_codel 0: parent 0:1 packets 100 flows_plimit 2
//
// Only what differs from nothing is written. Handles are hexadecimal, as tc has them.
func (p *Paper) link(line string) error {
	w := strings.Fields(line)
	if w[0] == "qdisc" {
		return p.qdisc(w[1:])
	}
	l := advise.Link{Name: w[0], TxQueues: 1}
	var tso, gso bool
	err := words(w[1:], map[string]any{"up": &l.Up, "hardware": &l.Hardware, "loopback": &l.Loopback, "tso": &tso, "gso": &gso,
		"kind": &l.Kind, "queues": &l.TxQueues, "speed": &l.SpeedMb})
	l.Segments.Value = tso || gso
	p.links = append(p.links, l)
	return err
}

func (p *Paper) qdisc(w []string) error {
	if len(p.links) == 0 || len(w) < 3 {
		return fmt.Errorf("use qdisc KIND HANDLE root|ingress|parent CLASS, after a link")
	}
	q := advise.Qdisc{Kind: w[0]}
	var own, parent handle
	var root, ingress bool
	err := words(append([]string{"handle"}, w[1:]...), map[string]any{"handle": &own, "root": &root, "ingress": &ingress, "parent": &parent,
		"packets": &q.Packets, "flows_plimit": &q.FlowsPlimit})
	q.Handle, q.Parent = uint32(own), uint32(parent)
	if root {
		q.Parent = advise.ParentRoot
	} else if ingress {
		q.Parent = advise.ParentIngress
	}
	last := &p.links[len(p.links)-1]
	last.Qdiscs = append(last.Qdiscs, q)
	return err
}

type handle uint32

// parse reads MAJOR:MINOR; either may be missing.
func (h *handle) parse(s string) error {
	major, minor, ok := strings.Cut(s, ":")
	a, err1 := strconv.ParseUint("0"+major, 16, 16)
	b, err2 := strconv.ParseUint("0"+minor, 16, 16)
	if !ok || err1 != nil || err2 != nil {
		return fmt.Errorf("use MAJOR:MINOR")
	}
	*h = handle(a<<16 | b)
	return nil
}

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
		s := advise.Socket{Local: w[0], Remote: w[1], Cong: w[2]}
		var bbr inetdiag.BBRInfo
		err := words(w[3:], map[string]any{"pacing": &s.PacingRate, "rtt": &s.RttUs, "cwnd": &s.CwndSegment,
			"bw": &bbr.BwBytesPerS, "mrtt": &bbr.MinRttUs, "pacing_gain": &bbr.PacingGain, "cwnd_gain": &bbr.CwndGain})
		if bbr != (inetdiag.BBRInfo{}) {
			s.State = advise.BBRState(bbr)
		}
		p.sockets.Samples = append(p.sockets.Samples, s)
		return err
	}
	if len(w) < 2 {
		return fmt.Errorf("use CONGESTION-CONTROL COUNT")
	}
	n, err := strconv.Atoi(w[1])
	p.sockets.ByCong[w[0]] += n
	switch {
	case len(w) == 3 && w[2] == "paced":
		p.sockets.Paced += n
	case advise.IsBBR(w[0]):
		p.sockets.Unpaced += n
	}
	return err
}
