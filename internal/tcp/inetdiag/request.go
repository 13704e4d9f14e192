package inetdiag

// A dump request, in one of the kernel's two forms. SOCK_DIAG_BY_FAMILY (20) walks the socket
// table once for each family. The older TCPDIAG_GETSOCK (18) ignores the family and returns
// both in one walk, which halves the walking; both take the same attributes and answer with
// the same messages.
//
// Source: struct inet_diag_req_v2, inet_diag_req; inet_diag_dump_compat() in
// net/ipv4/inet_diag.c; bpf_sk_storage_diag_alloc() in net/core/bpf_sk_storage.c.

// Ext is the set of optional attributes to ask for: bit n-1 is attribute n.
type Ext uint8

// Attributes that a request must ask for. All others come by themselves; MARK, CGROUP_ID and
// ULP_INFO only as far as the caller's capabilities allow.
const (
	ExtMem      Ext = 1 << (attrMem - 1)
	ExtInfo     Ext = 1 << (attrInfo - 1)
	ExtVegas    Ext = 1 << (attrVegas - 1) // also DCTCPINFO and BBRINFO: what the socket runs
	ExtCong     Ext = 1 << (attrCong - 1)
	ExtTOS      Ext = 1 << (attrTOS - 1)
	ExtTClass   Ext = 1 << (attrTClass - 1) // also CLASS_ID
	ExtSKMem    Ext = 1 << (attrSKMem - 1)
	ExtShutdown Ext = 1 << (attrShutdown - 1)

	// ExtPoll is what the closed loop needs: 15 % fewer bytes than ExtAll.
	ExtPoll = ExtInfo | ExtVegas | ExtCong
	ExtAll  = Ext(0xff)
)

const (
	reqBytecode  = 1
	reqStorages  = 2
	reqMapFD     = 1
	protocolTCP  = 6
	flagNested   = 0x8000
	requestV1Len = 60
	requestV2Len = 56
)

// Request asks for a dump of TCP sockets.
type Request struct {
	Family    uint8  // FamilyInet, FamilyInet6, or FamilyBoth for one walk over both
	States    uint32 // 1 << state, see Connected
	Ext       Ext
	Bytecode  []byte // of SportFilter; none: all ports
	StorageFD int    // file descriptor of the sk_storage map to read along; 0: none
}

// Append adds the whole netlink message of the request.
func (r Request) Append(b []byte, seq uint32) []byte {
	start := len(b)
	kind := uint16(TypeByFamily)
	if r.Family == FamilyBoth {
		kind = TypeGetSock
	}
	b = AppendMessage(b, Header{Type: kind, Flags: FlagRequest | FlagDump, Seq: seq}, nil)
	b = r.appendBody(b)
	if len(r.Bytecode) > 0 {
		b = appendAttr(b, reqBytecode, r.Bytecode)
	}
	if r.StorageFD > 0 {
		var fd [8]byte
		le.PutUint16(fd[0:], uint16(len(fd)))
		le.PutUint16(fd[2:], reqMapFD)
		le.PutUint32(fd[4:], uint32(r.StorageFD))
		b = appendAttr(b, reqStorages|flagNested, fd[:])
	}
	le.PutUint32(b[start:], uint32(len(b)-start))
	return b
}

func (r Request) appendBody(b []byte) []byte {
	if r.Family == FamilyBoth {
		var v1 [requestV1Len]byte
		v1[3] = byte(r.Ext)
		le.PutUint32(v1[52:], r.States)
		return append(b, v1[:]...)
	}
	var v2 [requestV2Len]byte
	v2[0], v2[1], v2[2] = r.Family, protocolTCP, byte(r.Ext)
	le.PutUint32(v2[4:], r.States)
	return append(b, v2[:]...)
}

func appendAttr(b []byte, kind uint16, data []byte) []byte {
	b = le.AppendUint16(b, uint16(attrHeaderLen+len(data)))
	b = le.AppendUint16(b, kind)
	b = append(b, data...)
	return pad4(b, len(data))
}
