package inetdiag

import "net/netip"

// Sock is one socket of an inet_diag dump: inet_diag_msg and every attribute that the kernel
// sent. A streaming decoder fills the same Sock again and again; copy it (and clone Storage)
// to keep it past the callback.
type Sock struct {
	Family, State, Timer, Retrans uint8
	Local, Remote                 netip.AddrPort // as the kernel sends them; IPv4-mapped IPv6 stays mapped
	Interface                     uint32         // the only one that the socket uses; 0: any
	Link                          Cong           // its name (IFNAMSIZ, 16 as well), where the reader of a dump fills it in
	Cookie                        uint64
	ExpiresMs, Rqueue, Wqueue     uint32
	UID, Inode                    uint32

	Has Attrs // which of the following are set

	Info     TCPInfo
	BBR      BBRInfo
	Vegas    VegasInfo
	DCTCP    DCTCPInfo
	Cong     Cong
	Mem      MemInfo
	SKMem    SKMemInfo
	TOS      uint8
	TClass   uint8
	Shutdown uint8
	V6Only   bool
	Mark     uint32
	CgroupID uint64
	ClassID  uint32
	ULP      ULPInfo
	SockOpt  SockOpt

	Storage []byte // the sk_storage value of the map asked for; points into the read buffer
}

// Attrs is the set of attributes that a message carried.
type Attrs uint32

// One bit for each attribute of inet_diag that we decode.
const (
	HasInfo Attrs = 1 << iota
	HasBBR
	HasVegas
	HasDCTCP
	HasCong
	HasMem
	HasSKMem
	HasTOS
	HasTClass
	HasShutdown
	HasV6Only
	HasMark
	HasCgroupID
	HasClassID
	HasULP
	HasSockOpt
	HasStorage
	HasUnknown // an attribute that this version does not know was skipped
)

// Cong is a congestion control's name, NUL padded (TCP_CA_NAME_MAX is 16):
// comparable, so that a dump allocates no string per socket.
type Cong [16]byte

// String returns the name without its padding.
func (c Cong) String() string {
	for i, b := range c {
		if b == 0 {
			return string(c[:i])
		}
	}
	return string(c[:])
}

// CongOf packs a name, cut at 15 bytes as in the kernel.
func CongOf(name string) (c Cong) {
	copy(c[:15], name)
	return c
}

// VegasInfo is struct tcpvegas_info.
type VegasInfo struct{ Enabled, RttCnt, RttUs, MinRttUs uint32 }

// DCTCPInfo is struct tcp_dctcp_info.
type DCTCPInfo struct {
	Enabled, CeState    uint16
	Alpha, AbEcn, AbTot uint32
}

// MemInfo is struct inet_diag_meminfo, bytes.
type MemInfo struct{ Rmem, Wmem, Fmem, Tmem uint32 }

// SKMemInfo is the SK_MEMINFO_* array, bytes except for Drops and Backlog.
type SKMemInfo struct {
	RmemAlloc, Rcvbuf, WmemAlloc, Sndbuf, FwdAlloc, WmemQueued, Optmem, Backlog, Drops uint32
}

// ULPInfo names the upper-layer protocol on the socket.
type ULPInfo struct {
	Name  Cong // "tls", "mptcp", ...
	MPTCP bool // an MPTCP subflow
	TLS   bool
}

// SockOpt is struct inet_diag_sockopt, one bit each, in the kernel's order.
type SockOpt uint16
