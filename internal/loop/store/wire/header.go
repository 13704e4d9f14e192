package wire

import (
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/loop/store/wire/congctlv1"
	"github.com/congctl/congctl/internal/tcp/record"
)

// What a batch may hold. Each sender of congctl stays within it, so what is beyond is refused before it costs more than
// its bytes. (Of 1 MB, records of 6 bytes would make 131,067, and empty ends of windows half a million.)
const (
	// maxConns is at which each writer closes a batch: fleet/uplink and Limits.
	maxConns = 1000
	// minConnBytes of a batch for each record. The smallest that an agent writes has 34: when, in which namespace, which
	// cookie, an address of four bytes, its port, a network. Without the host's own address, which a sender might leave
	// out, it would have 26.
	minConnBytes = 24
	// maxHeadBytes of a batch beside its records: ends of windows in which each of 30,000 namespaces has its default, as
	// older senders have it.
	maxHeadBytes = 256 << 10
	// maxEnds of windows: an uplink keeps 16, and adds the present one.
	maxEnds = 64
	// maxKinds of default_congs: Linux 6.18 has 17, and a host may load its own.
	maxKinds = 32
	// maxCong is TCP_CA_NAME_MAX without its zero.
	maxCong = 15

	maxName = 253 // bytes: a DNS name
	maxWord = 100 // bytes: a version
)

// Fields of the messages Batch and WindowEnd.
const (
	numBootID, numHost, numPoP, numSequence, numVersion, numConns, numEnds = 1, 2, 3, 4, 5, 6, 7
	numStart, numUnknown, numStarved, numDefaultCongs                      = 1, 2, 3, 4
)

// batch returns a message Batch without records.
func (h *Header) batch() *congctlv1.Batch {
	b := &congctlv1.Batch{Host: foreign.Cut(h.Host, maxName), Pop: foreign.Cut(h.PoP, maxName), Sequence: h.Sequence, CongctlVersion: foreign.Cut(h.CongctlVersion, maxWord)}
	if h.Boot != (record.BootID{}) {
		b.BootId = h.Boot[:]
	}
	for _, e := range h.Ends {
		m := &congctlv1.WindowEnd{Start: e.Start, Unknown: foreign.Cut(e.Unknown, foreign.MaxText), Starved: foreign.Cut(e.Starved, foreign.MaxText)}
		for _, c := range e.DefaultCongs {
			if c = foreign.Cut(c, maxCong); !slices.Contains(m.DefaultCongs, c) && len(m.DefaultCongs) < maxKinds {
				m.DefaultCongs = append(m.DefaultCongs, c)
			}
		}
		b.WindowEnds = append(b.WindowEnds, m)
	}
	return b
}

// decode reads a message Batch but its records, which it counts.
func (h *Header) decode(b []byte) (conns int, err error) {
	head := 0
	err = scan(b, nil, nil, func(tag, v uint64, raw []byte) (err error) {
		if tag == numConns<<3|isBytes {
			if conns++; conns > maxConns {
				err = fmt.Errorf("field conns: more than %d records", maxConns)
			}
			return err
		}
		if head += 2 + len(raw); head > maxHeadBytes { // a tag and a byte, or a length, at least
			return fmt.Errorf("more than %d bytes beside the records", maxHeadBytes)
		}
		switch tag {
		case numBootID<<3 | isBytes:
			err = h.setBoot(raw)
		case numHost<<3 | isBytes:
			h.Host, err = nameOf("host", raw)
		case numPoP<<3 | isBytes:
			h.PoP, err = nameOf("pop", raw)
		case numSequence<<3 | isVarint:
			h.Sequence = v
		case numVersion<<3 | isBytes:
			h.CongctlVersion = textOf(raw, maxWord)
		case numEnds<<3 | isBytes:
			err = h.addEnd(raw)
		}
		return err
	})
	if room := (len(b) + minConnBytes - 1) / minConnBytes; err == nil && conns > room {
		err = fmt.Errorf("field conns: %d records in %d bytes, which have room for %d", conns, len(b), room)
	}
	return conns, err
}

func (h *Header) setBoot(raw []byte) error {
	if n := len(raw); n > 0 && n != len(h.Boot) {
		return fmt.Errorf("field boot_id: %d bytes, want %d", n, len(h.Boot))
	}
	h.Boot = record.BootID{}
	copy(h.Boot[:], raw)
	return nil
}

// nameOf refuses what cannot be a name: cut, it would be another's.
func nameOf(field string, raw []byte) (string, error) {
	if s := textOf(raw, maxName); s == string(raw) {
		return s, nil
	}
	return "", fmt.Errorf("field %s: %d bytes; a name has at most %d, all of which can be printed", field, len(raw), maxName)
}

func textOf(raw []byte, most int) string { return foreign.Cut(string(raw[:min(len(raw), most)]), most) }

func (h *Header) addEnd(raw []byte) error {
	if len(h.Ends) == maxEnds {
		return fmt.Errorf("field window_ends: more than %d", maxEnds)
	}
	var e WindowEnd
	err := scan(raw, nil, nil, func(tag, v uint64, raw []byte) error {
		switch tag {
		case numStart<<3 | isVarint:
			e.Start = int64(v)
		case numUnknown<<3 | isBytes:
			e.Unknown = textOf(raw, foreign.MaxText)
		case numStarved<<3 | isBytes:
			e.Starved = textOf(raw, foreign.MaxText)
		case numDefaultCongs<<3 | isBytes:
			return e.addCong(raw)
		}
		return nil
	})
	h.Ends = append(h.Ends, e)
	return err
}

// addCong keeps each name once: older senders repeat it for each namespace.
func (e *WindowEnd) addCong(raw []byte) error {
	if slices.ContainsFunc(e.DefaultCongs, func(c string) bool { return c == string(raw) }) {
		return nil
	}
	c, err := congOf("default_congs", raw, "")
	if err == nil && len(e.DefaultCongs) == maxKinds {
		err = fmt.Errorf("field default_congs: more than %d", maxKinds)
	}
	e.DefaultCongs = append(e.DefaultCongs, c)
	return err
}
