package inetdiag

import "unsafe"

// struct tcp_info has only ever grown at the end (192 bytes in 4.10, 280 with AccECN in 6.18),
// so the prefix that a kernel sends always means the same. Byte 6 holds two 4-bit fields, low
// half first; byte 7 one bit, then two. From byte 8 on [TCPInfo] has the kernel's fields in
// the kernel's order without holes, in two runs: Go aligns the 8-byte PacingRate anew.
//
// Source: struct tcp_info, include/uapi/linux/tcp.h; linux/sample compares
// every field with the running kernel's BTF.

// Offsets in struct tcp_info, bytes.
const (
	infoRto    = 8   // of tcpi_rto, behind the bytes and bits
	infoPacing = 104 // of tcpi_pacing_rate
	// TCPInfoLen is sizeof(struct tcp_info) known to this decoder.
	TCPInfoLen = 280
)

func (t *TCPInfo) decode(b []byte) {
	t.Len = len(b)
	p := b
	if len(p) < TCPInfoLen {
		p = append(make([]byte, 0, TCPInfoLen), b...)[:TCPInfoLen]
	}
	t.State, t.CaState, t.Retransmits, t.Probes, t.Backoff, t.Options = p[0], p[1], p[2], p[3], p[4], p[5]
	t.SndWscale, t.RcvWscale = p[6]&15, p[6]>>4
	t.DeliveryRateAppLimited, t.FastopenClientFail = p[7]&1 != 0, p[7]>>1&3
	fill(&t.RtoUs, p[infoRto:infoPacing])
	fill(&t.PacingRate, p[infoPacing:TCPInfoLen])
}

// fill copies b over the memory that begins with the field at first.
func fill[T any](first *T, b []byte) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(first)), len(b)), b)
}
