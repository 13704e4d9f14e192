package inetdiag

// TCPInfo is struct tcp_info of include/uapi/linux/tcp.h as of 6.18, with kernel names in Go
// spelling. Units: *Us microseconds, *Ms milliseconds, rates bytes per second, cwnd and
// ssthresh segments, all counters lifetime. A kernel that sends a shorter struct leaves the
// tail zero; Len is how many bytes it sent.
type TCPInfo struct {
	State, CaState, Retransmits, Probes, Backoff, Options uint8
	SndWscale, RcvWscale                                  uint8 // 4 bits each
	DeliveryRateAppLimited                                bool  // the last rate sample was limited by the application
	FastopenClientFail                                    uint8 // 2 bits

	RtoUs, AtoUs, SndMss, RcvMss                                 uint32
	Unacked, Sacked, Lost, Retrans, Fackets                      uint32
	LastDataSentMs, LastAckSentMs, LastDataRecvMs, LastAckRecvMs uint32
	Pmtu, RcvSsthresh, RttUs, RttvarUs, SndSsthresh, SndCwnd     uint32
	Advmss, Reordering, RcvRttUs, RcvSpace, TotalRetrans         uint32
	PacingRate, MaxPacingRate, BytesAcked, BytesReceived         uint64
	SegsOut, SegsIn, NotsentBytes, MinRttUs, DataSegsIn          uint32
	DataSegsOut                                                  uint32
	DeliveryRate, BusyTimeUs, RwndLimitedUs, SndbufLimitedUs     uint64
	Delivered, DeliveredCe                                       uint32
	BytesSent, BytesRetrans                                      uint64
	DsackDups, ReordSeen, RcvOoopack, SndWnd, RcvWnd, Rehash     uint32
	TotalRto, TotalRtoRecoveries                                 uint16
	TotalRtoTimeMs                                               uint32
	ReceivedCe, DeliveredE1Bytes, DeliveredE0Bytes               uint32
	DeliveredCeBytes, ReceivedE1Bytes, ReceivedE0Bytes           uint32
	ReceivedCeBytes                                              uint32
	AccecnFailMode, AccecnOptSeen                                uint16

	Len int // bytes of tcp_info that the kernel sent; 0: no tcp_info (TIME_WAIT, NEW_SYN_RECV)
}

// BBRInfo is struct tcp_bbr_info.
type BBRInfo struct {
	BwBytesPerS uint64
	MinRttUs    uint32
	PacingGain  uint32 // fixed point, 256 is 1.0
	CwndGain    uint32 // fixed point, 256 is 1.0
}
