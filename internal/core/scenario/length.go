package scenario

// length is that of a queue, in the unit that its author thought in.
type length struct {
	unit string // "p", "bdp", "us", "bytes"; "" is unset
	n    uint64 // of bdp: millionths
}

var (
	packetUnits = map[string]uint64{"p": 1}
	bdpUnits    = map[string]uint64{"bdp": ppm}
)

func parseBuffer(s string) (length, error) {
	switch _, unit := split(s); unit {
	case "p":
		n, err := quantity(s, packetUnits, maxBuffer, "packets, as in 200p")
		return length{"p", n}, err
	case "bdp":
		n, err := quantity(s, bdpUnits, 1000*ppm, "a multiple of rate x rtt, as in 1bdp")
		return length{"bdp", n}, err
	case "us", "ms", "s":
		n, err := parseTime(s)
		return length{"us", n}, err
	}
	_, err := quantity(s, nil, 0, "packets, a time or a multiple of rate x rtt, as in 200p, 50ms or 1bdp")
	return length{}, err
}

// parseTbfLimit reads tc's limit (bytes) or latency (a time).
func parseTbfLimit(s string) (length, error) {
	if n, err := parseTime(s); err == nil {
		return length{"us", n}, nil
	}
	n, err := parseSize(s)
	return length{"bytes", n}, err
}

// packets of full size that l is at rate and rtt, rounded up: a part of a packet would
// be no queue.
func (l length) packets(p *Path) uint64 {
	frame := uint64(p.MTU + ethernet)
	switch l.unit {
	case "p":
		return l.n
	case "us":
		return mulDiv(p.RateBitPerS, l.n, 8e6*frame)
	case "bdp":
		return mulDiv(bdp(p.RateBitPerS, p.RTTUs), l.n, ppm*frame)
	}
	return max(mulDiv(bdp(p.RateBitPerS, p.RTTUs), 1, frame), initialWindow)
}

// ethernet is the header that tc counts with each packet, in bytes.
const ethernet = 14

// initialWindow of Linux (RFC 6928), in packets: a default queue takes it.
const initialWindow = 10

// bdp is rate x time in bytes.
func bdp(bitPerS, us uint64) uint64 { return mulDiv(bitPerS, us, 8e6) }
