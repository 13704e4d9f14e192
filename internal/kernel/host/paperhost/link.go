package paperhost

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/core/advise"
)

// link reads a link, or, indented, a qdisc of the last one:
//
//	2: eth0 up mtu 1500 queues 1 driver virtio_net speed 1000 kind veth hardware loopback tso gso gro
//	    qdisc mq 0: root
//	    qdisc fq_codel 0: parent 0:1 packets 100 drops 3 flows_plimit 2
//
// Only what differs from nothing is written. Handles are hexadecimal, as tc has them.
func (p *Paper) link(line string) error {
	w := strings.Fields(line)
	if w[0] == "qdisc" {
		if len(p.links) == 0 {
			return fmt.Errorf("a qdisc before the first link")
		}
		q, err := parseQdisc(w[1:])
		last := &p.links[len(p.links)-1]
		last.Qdiscs = append(last.Qdiscs, q)
		return err
	}
	index, err := strconv.Atoi(strings.TrimSuffix(w[0], ":"))
	if err != nil || len(w) < 2 {
		return fmt.Errorf("use INDEX: NAME words")
	}
	l := advise.Link{Index: index, Name: w[1], MTU: 1500, TxQueues: 1}
	l.Offloads.Value = map[string]bool{"tso": false, "gso": false, "gro": false}
	if err := eachWord(w[2:], func(word, value string) (bool, error) { return linkWord(&l, word, value) }); err != nil {
		return err
	}
	p.links = append(p.links, l)
	return nil
}

// eachWord calls fn with each word and the one after it; fn tells whether it took that, too.
func eachWord(w []string, fn func(word, value string) (took bool, err error)) error {
	for i := 0; i < len(w); i++ {
		value := ""
		if i+1 < len(w) {
			value = w[i+1]
		}
		took, err := fn(w[i], value)
		if err != nil {
			return fmt.Errorf("%s %s: %w", w[i], value, err)
		}
		if took {
			i++
		}
	}
	return nil
}

func linkWord(l *advise.Link, word, value string) (took bool, err error) {
	switch word {
	case "up":
		l.Up = true
	case "hardware":
		l.Hardware = true
	case "loopback":
		l.Loopback = true
	case "tso", "gso", "gro":
		l.Offloads.Value[word] = true
	case "driver":
		l.Driver, took = value, true
	case "kind":
		l.Kind, took = value, true
	case "mtu":
		l.MTU, err = strconv.Atoi(value)
		took = true
	case "queues":
		l.TxQueues, err = strconv.Atoi(value)
		took = true
	case "speed":
		l.SpeedMb, err = strconv.Atoi(value)
		took = true
	default:
		err = fmt.Errorf("unknown word")
	}
	return took, err
}

func parseQdisc(w []string) (q advise.Qdisc, err error) {
	if len(w) < 3 {
		return q, fmt.Errorf("use qdisc KIND HANDLE root|ingress|parent CLASS")
	}
	q.Kind = w[0]
	if q.Handle, err = handle(w[1]); err != nil {
		return q, err
	}
	err = eachWord(w[2:], func(word, value string) (bool, error) { return qdiscWord(&q, word, value) })
	return q, err
}

func qdiscWord(q *advise.Qdisc, word, value string) (took bool, err error) {
	switch word {
	case "root":
		q.Parent = advise.ParentRoot
		return false, nil
	case "ingress":
		q.Parent = advise.ParentIngress
		return false, nil
	case "parent":
		q.Parent, err = handle(value)
	case "packets":
		q.Packets, err = strconv.ParseUint(value, 10, 64)
	case "drops":
		q.Drops, err = strconv.ParseUint(value, 10, 64)
	case "flows_plimit":
		q.FlowsPlimit, err = strconv.ParseUint(value, 10, 64)
	default:
		err = fmt.Errorf("unknown word")
	}
	return true, err
}

// handle reads MAJOR:MINOR; either may be missing.
func handle(s string) (uint32, error) {
	major, minor, ok := strings.Cut(s, ":")
	if !ok {
		return 0, fmt.Errorf("handle %q: use MAJOR:MINOR", s)
	}
	var parts [2]uint64
	for i, part := range []string{major, minor} {
		if part == "" {
			continue
		}
		var err error
		if parts[i], err = strconv.ParseUint(part, 16, 16); err != nil {
			return 0, fmt.Errorf("handle %q: %w", s, err)
		}
	}
	return uint32(parts[0]<<16 | parts[1]), nil
}
