package sockets

// A table that a terminal shows well: one line for each socket, numbers in human
// units, "-" where the kernel sent nothing. Widths come from the first rows, so
// that a million sockets stream through constant memory; a later, longer cell
// pushes its own line only.

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

const (
	// sampleRows is how many rows decide the widths: enough to meet both families
	// and the long names, little enough to print at once.
	sampleRows = 512
	columns    = 15
	// flushBytes is some hundred sockets for each write call, and a reader of a pipe still
	// sees them as they come.
	flushBytes = 64 << 10
)

type row [columns]string

var header = row{
	"STATE", "CONG", "LOCAL", "REMOTE", "RECV-Q", "SEND-Q", "RTT", "MIN_RTT", "CWND", "SSTHRESH",
	"DELIVERY_RATE", "PACING_RATE", "ACKED", "RETRANS", "NETNS",
}

// rightAligned columns hold numbers.
var rightAligned = [columns]bool{4: true, 5: true, 6: true, 7: true, 8: true, 9: true, 10: true, 11: true, 12: true, 13: true}

// WriteTable writes each socket as one line under a header.
func WriteTable(w io.Writer, from Source) error {
	t := table{out: bufio.NewWriterSize(w, flushBytes), rows: []row{header}}
	err := from(func(netns string, s *inetdiag.Sock) { t.add(cells(netns, s)) })
	t.settle()
	if err := t.out.Flush(); err != nil { // the first one, of any line
		return fmt.Errorf("write sockets: %w", err)
	}
	return err
}

type table struct {
	out    *bufio.Writer
	rows   []row // waiting for the widths
	widths [columns]int
}

func (t *table) add(r row) {
	if t.rows == nil {
		t.line(&r)
		return
	}
	t.rows = append(t.rows, r)
	if len(t.rows) > sampleRows {
		t.settle()
	}
}

func (t *table) settle() {
	for _, r := range t.rows {
		for i, cell := range r {
			t.widths[i] = max(t.widths[i], len(cell))
		}
	}
	for i := range t.rows {
		t.line(&t.rows[i])
	}
	t.rows = nil
}

func (t *table) line(r *row) {
	for i, cell := range r[:columns-1] {
		left, right := "", strings.Repeat(" ", max(t.widths[i]-len(cell), 0))
		if rightAligned[i] {
			left, right = right, left
		}
		for _, s := range [...]string{left, cell, right, "  "} {
			t.out.WriteString(s)
		}
	}
	t.out.WriteString(r[columns-1] + "\n")
}

func cells(netns string, s *inetdiag.Sock) row {
	r := row{
		inetdiag.StateName(s.State), "-", address(s.Local, linkOf(s)), address(s.Remote, ""), strconv.Itoa(int(s.Rqueue)), strconv.Itoa(int(s.Wqueue)),
		"-", "-", "-", "-", "-", "-", "-", "-", netns,
	}
	if s.Has&inetdiag.HasCong != 0 {
		r[1] = string(appendCong(nil, s.Cong))
	}
	if s.Has&inetdiag.HasInfo == 0 || s.State == inetdiag.StateListen {
		return r // of a listener tcp_info has only its queue, in other fields' places
	}
	t := &s.Info
	r[6], r[7] = micros(t.RttUs), micros(t.MinRttUs)
	r[8] = strconv.Itoa(int(t.SndCwnd))
	if t.SndSsthresh < math.MaxInt32 { // TCP_INFINITE_SSTHRESH: never left slow start
		r[9] = strconv.Itoa(int(t.SndSsthresh))
	}
	r[10], r[11] = bits(t.DeliveryRate), bits(t.PacingRate)
	if t.Len >= 128 { // older kernels do not count bytes
		r[12] = size(t.BytesAcked)
	}
	if t.BytesSent > 0 {
		r[13] = fmt.Sprintf("%.2f%%", 100*float64(t.BytesRetrans)/float64(t.BytesSent))
	}
	return r
}

// address prints an address, the link that the socket is bound to, and a port, as ss does.
func address(a netip.AddrPort, link string) string {
	host, port := a.Addr().String(), "*"
	if a.Addr().Is6() {
		host = "[" + host + "]"
	}
	if link != "" {
		host += "%" + link
	}
	if a.Port() != 0 {
		port = strconv.Itoa(int(a.Port()))
	}
	return host + ":" + port
}

// micros prints a time; 0 and the kernel's "no sample yet" (all ones) are missing.
func micros(us uint32) string {
	if us == 0 || us == math.MaxUint32 {
		return "-"
	}
	return strconv.FormatFloat(float64(us)/1000, 'f', 3, 64) + "ms"
}

// bits prints a rate of the kernel, which counts bytes, as bits per second; all
// ones is "no limit".
func bits(bytesPerS uint64) string {
	if bytesPerS == 0 || bytesPerS == math.MaxUint64 {
		return "-"
	}
	return scaled(float64(bytesPerS)*8, "bit/s")
}

func size(bytes uint64) string { return scaled(float64(bytes), "B") }

func scaled(v float64, unit string) string {
	prefix := 0
	for v >= 999.95 && prefix < 5 {
		v /= 1000
		prefix++
	}
	if prefix == 0 {
		return strconv.FormatFloat(v, 'f', 0, 64) + unit
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + string(" kMGTP"[prefix]) + unit
}
