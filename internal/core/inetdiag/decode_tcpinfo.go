package inetdiag

// struct tcp_info at its byte offsets. It only ever grew at the end (192 bytes in
// 4.10, 280 with AccECN in 6.18), so the prefix that a kernel sends always means
// the same. Byte 6 holds two 4-bit
// fields, low half first; byte 7 one bit, then two. There are no holes: the
// 8-byte fields at 104 and 160 fall on their own alignment.
//
// Source: struct tcp_info, include/uapi/linux/tcp.h; kernel/sample compares
// every offset with the running kernel's BTF.

// TCPInfoLen is sizeof(struct tcp_info) known to this decoder, bytes.
const TCPInfoLen = 280

type infoBytes = [TCPInfoLen]byte

func (t *TCPInfo) decode(b []byte) {
	if len(b) >= TCPInfoLen {
		t.read((*infoBytes)(b))
	} else {
		var room infoBytes
		copy(room[:], b)
		t.read(&room)
	}
	t.Len = len(b)
}

func (t *TCPInfo) read(p *infoBytes) {
	t.readHead(p)
	t.readRates(p)
	t.readTail(p)
}

func (t *TCPInfo) readHead(p *infoBytes) {
	t.State, t.CaState, t.Retransmits, t.Probes, t.Backoff, t.Options = p[0], p[1], p[2], p[3], p[4], p[5]
	t.SndWscale, t.RcvWscale = p[6]&15, p[6]>>4
	t.DeliveryRateAppLimited = p[7]&1 != 0
	t.FastopenClientFail = p[7] >> 1 & 3
	t.RtoUs = le.Uint32(p[8:])
	t.AtoUs = le.Uint32(p[12:])
	t.SndMss = le.Uint32(p[16:])
	t.RcvMss = le.Uint32(p[20:])
	t.Unacked = le.Uint32(p[24:])
	t.Sacked = le.Uint32(p[28:])
	t.Lost = le.Uint32(p[32:])
	t.Retrans = le.Uint32(p[36:])
	t.Fackets = le.Uint32(p[40:])
	t.LastDataSentMs = le.Uint32(p[44:])
	t.LastAckSentMs = le.Uint32(p[48:])
	t.LastDataRecvMs = le.Uint32(p[52:])
	t.LastAckRecvMs = le.Uint32(p[56:])
	t.Pmtu = le.Uint32(p[60:])
	t.RcvSsthresh = le.Uint32(p[64:])
	t.RttUs = le.Uint32(p[68:])
	t.RttvarUs = le.Uint32(p[72:])
	t.SndSsthresh = le.Uint32(p[76:])
	t.SndCwnd = le.Uint32(p[80:])
	t.Advmss = le.Uint32(p[84:])
	t.Reordering = le.Uint32(p[88:])
	t.RcvRttUs = le.Uint32(p[92:])
	t.RcvSpace = le.Uint32(p[96:])
	t.TotalRetrans = le.Uint32(p[100:])
}

func (t *TCPInfo) readRates(p *infoBytes) {
	t.PacingRate = le.Uint64(p[104:])
	t.MaxPacingRate = le.Uint64(p[112:])
	t.BytesAcked = le.Uint64(p[120:])
	t.BytesReceived = le.Uint64(p[128:])
	t.SegsOut = le.Uint32(p[136:])
	t.SegsIn = le.Uint32(p[140:])
	t.NotsentBytes = le.Uint32(p[144:])
	t.MinRttUs = le.Uint32(p[148:])
	t.DataSegsIn = le.Uint32(p[152:])
	t.DataSegsOut = le.Uint32(p[156:])
	t.DeliveryRate = le.Uint64(p[160:])
	t.BusyTimeUs = le.Uint64(p[168:])
	t.RwndLimitedUs = le.Uint64(p[176:])
	t.SndbufLimitedUs = le.Uint64(p[184:])
	t.Delivered = le.Uint32(p[192:])
	t.DeliveredCe = le.Uint32(p[196:])
}

func (t *TCPInfo) readTail(p *infoBytes) {
	t.BytesSent = le.Uint64(p[200:])
	t.BytesRetrans = le.Uint64(p[208:])
	t.DsackDups = le.Uint32(p[216:])
	t.ReordSeen = le.Uint32(p[220:])
	t.RcvOoopack = le.Uint32(p[224:])
	t.SndWnd = le.Uint32(p[228:])
	t.RcvWnd = le.Uint32(p[232:])
	t.Rehash = le.Uint32(p[236:])
	t.TotalRto = le.Uint16(p[240:])
	t.TotalRtoRecoveries = le.Uint16(p[242:])
	t.TotalRtoTimeMs = le.Uint32(p[244:])
	t.ReceivedCe = le.Uint32(p[248:])
	t.DeliveredE1Bytes = le.Uint32(p[252:])
	t.DeliveredE0Bytes = le.Uint32(p[256:])
	t.DeliveredCeBytes = le.Uint32(p[260:])
	t.ReceivedE1Bytes = le.Uint32(p[264:])
	t.ReceivedE0Bytes = le.Uint32(p[268:])
	t.ReceivedCeBytes = le.Uint32(p[272:])
	t.AccecnFailMode = le.Uint16(p[276:])
	t.AccecnOptSeen = le.Uint16(p[278:])
}
