package simulate

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/strict"
	"github.com/congctl/congctl/internal/tcp/record"
)

// History is recorded windows, read whole: lines may come in any order, and a round
// needs all lines of its window. 56 bytes a line are kept.
type History struct {
	window int64 // seconds
	pops   []string
	rows   []row // by start, then name of the PoP, then prefix
}

// row is one line.
type row struct {
	start  int64
	prefix record.Prefix
	rate   float64 // bytes/s
	rttUs  float64 // 0: not known
	lost   float64 // share of 1; unknown: not known
	n      uint32
	pop    uint32 // index of pops
	line   uint32
}

// unknown is the retransmitted share of a line without one.
const unknown = -1

// maxLine: the longest line that the format can need has about 300 bytes.
const maxLine = 64 << 10

// ReadHistory reads a history of windows of that many seconds. progress, which may be nil,
// is called now and then with the number of lines read. The error of a bad line is a
// [strict.Fault], and the first one ends the reading: a program makes a file of a million
// lines, and its mistake is on every line.
func ReadHistory(r io.Reader, windowSeconds int64, progress func(lines int)) (*History, error) {
	d := newDecoder(windowSeconds)
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, maxLine), maxLine)
	for s.Scan() {
		if err := d.add(s.Bytes()); err != nil {
			return nil, err
		}
		if progress != nil && d.line%progressLines == 0 {
			progress(d.line)
		}
	}
	if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, strict.Fault{Line: d.line + 1, Problem: fmt.Sprintf("longer than %d bytes", maxLine), Fix: "write one object a line"}
	} else if err != nil {
		return nil, fmt.Errorf("after line %d: %w", d.line, err)
	}
	h := d.history()
	if err := h.checkTwice(); err != nil {
		return nil, err
	}
	return h, nil
}

// progressLines are read in about a twentieth of a second.
const progressLines = 1 << 16

// sort orders the rows; a file that is in order already is only looked through.
func (h *History) sort() {
	compare := func(a, b row) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(h.pops[a.pop], h.pops[b.pop]), cmp.Compare(a.prefix, b.prefix), cmp.Compare(a.line, b.line))
	}
	if !slices.IsSortedFunc(h.rows, compare) {
		slices.SortFunc(h.rows, compare)
	}
}

// checkTwice refuses a window of a prefix on two lines, since either could be right. Of
// several it names the first in the file.
func (h *History) checkTwice() error {
	first, again := row{}, row{line: math.MaxUint32}
	for i := 1; i < len(h.rows); i++ {
		a, b := h.rows[i-1], h.rows[i]
		if a.start == b.start && a.pop == b.pop && a.prefix == b.prefix && b.line < again.line {
			first, again = a, b
		}
	}
	if again.line == math.MaxUint32 {
		return nil
	}
	return strict.Fault{Line: int(again.line), Field: "(window_start, pop, prefix)",
		Value:   fmt.Sprintf("%d %s %s", again.start, h.pops[again.pop], again.prefix),
		Problem: fmt.Sprintf("already in line %d", first.line), Fix: "keep one of the two"}
}

// Len is the number of lines.
func (h *History) Len() int { return len(h.rows) }

// Windows calls each with every window of every PoP, oldest first and PoPs by name.
// The rows are used again for the next one.
func (h *History) Windows(_ context.Context, each func(pop string, in policy.Input) error) error {
	var rows []record.Window
	for left := h.rows; len(left) > 0; {
		first := left[0]
		rows = rows[:0]
		for len(left) > 0 && left[0].start == first.start && left[0].pop == first.pop {
			rows, left = append(rows, left[0].window()), left[1:]
		}
		in := policy.Input{Start: first.start, RoundStart: first.start + h.window, Rows: rows}
		if err := each(h.pops[first.pop], in); err != nil {
			return err
		}
	}
	return nil
}

// window returns the row as the policy reads it. What a history lacks (receive window,
// busy time, all connections, spread of the rate) is set so that its guard does not hold:
// an unmeasured guard keeps no prefix out.
func (r row) window() record.Window {
	w := record.Window{Start: r.start, Prefix: r.prefix, Control: true, Eligible: r.n, RateMeans: r.n,
		MinRTTUs: r.rttUs, RetransShare: r.lost, Bytes: uint64(r.n) * lostWeight, BusyShare: 1}
	w.RateBytesPerS[record.Q50] = r.rate
	if r.lost == unknown {
		// The policy weighs this share by bytes. So little weight that it counts only
		// where no other window of the lookback has one, and then it is above any limit.
		w.RetransShare, w.Bytes = 1, 0
	}
	return w
}

// lostWeight is what one connection weighs in the retransmitted share, in bytes; a
// line without a share weighs one byte in all, a billionth of it.
const lostWeight = 1_000_000_000
