package inetdiag

// A port filter in the byte code that the kernel runs on every socket before it writes a
// message: skipping a socket there costs about a tenth of dumping it.
//
// Each operation is (u8 code, u8 yes, u16 no); yes and no are byte offsets from
// the operation to the next one. Landing exactly at the end accepts, four bytes
// past it rejects. A comparison with a port takes a second slot whose "no" is
// that port. JMP always takes its "no". For sorted, disjoint ranges:
//
//	S_GE lo   else reject (every later range is higher still)
//	S_LE hi   else the next range, or reject
//	JMP end   (not after the last range)
//
// The kernel's audit wants every target on the chain of "yes" from the start; here each
// operation is on it. S_EQ would do for a single port, but older kernels refuse it.
//
// Source: inet_diag_bc_audit(), inet_diag_bc_run() in net/ipv4/inet_diag.c.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PortRange is a closed range of local ports.
type PortRange struct{ Lo, Hi uint16 }

// ParsePortRange reads one port, or two with a hyphen, as in 8080-8090. Its error does not
// repeat the text.
func ParsePortRange(text string) (PortRange, error) {
	first, last, two := strings.Cut(text, "-")
	if !two {
		last = first
	}
	lo, err1 := strconv.ParseUint(first, 10, 16)
	hi, err2 := strconv.ParseUint(last, 10, 16)
	switch {
	case (err1 != nil || err2 != nil) && two:
		return PortRange{}, errors.New("not two whole numbers from 0 to 65535, as in 8080-8090")
	case err1 != nil:
		return PortRange{}, errors.New("not a whole number from 0 to 65535")
	case lo > hi:
		return PortRange{}, fmt.Errorf("inverted; write %d-%d", hi, lo)
	}
	return PortRange{uint16(lo), uint16(hi)}, nil
}

// String is what ParsePortRange reads.
func (r PortRange) String() string {
	if r.Lo == r.Hi {
		return strconv.Itoa(int(r.Lo))
	}
	return fmt.Sprintf("%d-%d", r.Lo, r.Hi)
}

// PortsOf lists the ports of the ranges, each once.
func PortsOf(ranges []PortRange) (ports []uint16) {
	var have [1 << 16]bool
	for _, r := range ranges {
		for p := int(r.Lo); p <= int(r.Hi); p++ {
			if !have[p] {
				have[p] = true
				ports = append(ports, uint16(p))
			}
		}
	}
	return ports
}

const (
	opJump       = 1
	opSourceGE   = 2
	opSourceLE   = 3
	opLen        = 4
	rangeLen     = 4 * opLen // two comparisons of two slots
	maxPortRange = 3000      // 20 bytes each; an offset has 16 bits, and so has the attribute's length
)

// SportFilter compiles "the local port is in one of the ranges". It merges overlapping and
// adjacent ranges, and refuses an empty list, an inverted range and more than 3,000
// disjoint ranges.
func SportFilter(ranges []PortRange) ([]byte, error) {
	merged, err := mergeRanges(ranges)
	if err != nil {
		return nil, err
	}
	total := len(merged)*(rangeLen+opLen) - opLen
	code := make([]byte, 0, total)
	for i, r := range merged {
		left := total - len(code)
		next := rangeLen + opLen - 2*opLen // from the second comparison over the jump
		if i == len(merged)-1 {
			next = left - 2*opLen + opLen
		}
		code = appendCompare(code, opSourceGE, left+opLen, r.Lo)
		code = appendCompare(code, opSourceLE, next, r.Hi)
		if i < len(merged)-1 {
			code = appendOp(code, opJump, opLen, total-len(code))
		}
	}
	return code, nil
}

func appendCompare(code []byte, op byte, no int, port uint16) []byte {
	code = appendOp(code, op, 2*opLen, no)
	return appendOp(code, 0, 0, int(port))
}

func appendOp(code []byte, op, yes byte, no int) []byte {
	return le.AppendUint16(append(code, op, yes), uint16(no))
}

func mergeRanges(ranges []PortRange) ([]PortRange, error) {
	if len(ranges) == 0 {
		return nil, fmt.Errorf("compile port filter: no ports; name one or leave the filter out")
	}
	sorted := slices.SortedFunc(slices.Values(ranges), func(a, b PortRange) int { return int(a.Lo) - int(b.Lo) })
	merged := sorted[:0]
	for _, r := range sorted {
		if r.Lo > r.Hi {
			return nil, fmt.Errorf("compile port filter: range %s is inverted; write %d-%d", r, r.Hi, r.Lo)
		}
		if last := len(merged) - 1; last >= 0 && int(r.Lo) <= int(merged[last].Hi)+1 {
			merged[last].Hi = max(merged[last].Hi, r.Hi)
			continue
		}
		merged = append(merged, r)
	}
	if len(merged) > maxPortRange {
		return nil, fmt.Errorf("compile port filter: %d separate ranges, at most %d; join neighbours", len(merged), maxPortRange)
	}
	return merged, nil
}
