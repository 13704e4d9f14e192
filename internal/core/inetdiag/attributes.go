package inetdiag

// The small attribute structs, each as the kernel lays it out. A shorter one is
// padded with zeros, a longer one is cut.
//
// Source: struct tcp_bbr_info, tcpvegas_info, tcp_dctcp_info, inet_diag_meminfo
// (include/uapi/linux/inet_diag.h), SK_MEMINFO_* (sock_diag.h), nested
// INET_ULP_INFO_* and SK_DIAG_BPF_STORAGE_* (inet_diag.h, sock_diag.h).

func (v *BBRInfo) decode(b []byte) {
	var room [20]byte
	p := whole20(b, &room)
	v.BwBytesPerS = uint64(le.Uint32(p[4:]))<<32 | uint64(le.Uint32(p[0:]))
	v.MinRttUs, v.PacingGain, v.CwndGain = le.Uint32(p[8:]), le.Uint32(p[12:]), le.Uint32(p[16:])
}

func whole20(b []byte, room *[20]byte) *[20]byte {
	if len(b) >= len(room) {
		return (*[20]byte)(b)
	}
	copy(room[:], b)
	return room
}

func (v *BBRInfo) append(b []byte) []byte {
	b = le.AppendUint64(b, v.BwBytesPerS) // bbr_bw_lo, bbr_bw_hi
	return appendWords(b, v.MinRttUs, v.PacingGain, v.CwndGain)
}

func (v *VegasInfo) decode(b []byte) {
	var p [16]byte
	copy(p[:], b)
	v.Enabled, v.RttCnt, v.RttUs, v.MinRttUs = le.Uint32(p[0:]), le.Uint32(p[4:]), le.Uint32(p[8:]), le.Uint32(p[12:])
}

func (v *VegasInfo) append(b []byte) []byte {
	return appendWords(b, v.Enabled, v.RttCnt, v.RttUs, v.MinRttUs)
}

func (v *DCTCPInfo) decode(b []byte) {
	var p [16]byte
	copy(p[:], b)
	v.Enabled, v.CeState = le.Uint16(p[0:]), le.Uint16(p[2:])
	v.Alpha, v.AbEcn, v.AbTot = le.Uint32(p[4:]), le.Uint32(p[8:]), le.Uint32(p[12:])
}

func (v *DCTCPInfo) append(b []byte) []byte {
	b = le.AppendUint16(b, v.Enabled)
	b = le.AppendUint16(b, v.CeState)
	return appendWords(b, v.Alpha, v.AbEcn, v.AbTot)
}

func (v *MemInfo) decode(b []byte) {
	var p [16]byte
	copy(p[:], b)
	v.Rmem, v.Wmem, v.Fmem, v.Tmem = le.Uint32(p[0:]), le.Uint32(p[4:]), le.Uint32(p[8:]), le.Uint32(p[12:])
}

func (v *MemInfo) append(b []byte) []byte {
	return appendWords(b, v.Rmem, v.Wmem, v.Fmem, v.Tmem)
}

func (v *SKMemInfo) decode(b []byte) {
	var p [36]byte
	copy(p[:], b)
	v.RmemAlloc, v.Rcvbuf, v.WmemAlloc = le.Uint32(p[0:]), le.Uint32(p[4:]), le.Uint32(p[8:])
	v.Sndbuf, v.FwdAlloc, v.WmemQueued = le.Uint32(p[12:]), le.Uint32(p[16:]), le.Uint32(p[20:])
	v.Optmem, v.Backlog, v.Drops = le.Uint32(p[24:]), le.Uint32(p[28:]), le.Uint32(p[32:])
}

func (v *SKMemInfo) append(b []byte) []byte {
	return appendWords(b, v.RmemAlloc, v.Rcvbuf, v.WmemAlloc, v.Sndbuf, v.FwdAlloc,
		v.WmemQueued, v.Optmem, v.Backlog, v.Drops)
}

func appendWords(b []byte, words ...uint32) []byte {
	for _, w := range words {
		b = le.AppendUint32(b, w)
	}
	return b
}

func congFrom(b []byte) (c Cong) {
	for i := 0; i < len(b) && i < len(c)-1 && b[i] != 0; i++ {
		c[i] = b[i]
	}
	return c
}

const (
	ulpName  = 1
	ulpTLS   = 2
	ulpMPTCP = 3
)

func (s *Sock) ulp(b []byte) bool {
	s.ULP = ULPInfo{}
	for len(b) >= attrHeaderLen {
		kind, data, rest, ok := nextAttr(b)
		if !ok {
			return false
		}
		switch kind {
		case ulpName:
			s.ULP.Name = congFrom(data)
		case ulpTLS:
			s.ULP.TLS = true
		case ulpMPTCP:
			s.ULP.MPTCP = true
		}
		b = rest
	}
	s.Has |= HasULP
	return true
}

const (
	storageOne   = 1 // SK_DIAG_BPF_STORAGE: one map's nest inside the array
	storageMapID = 2
	storageValue = 3
)

// storages keeps the value of the first map; a Request asks for one map only.
func (s *Sock) storages(b []byte) bool {
	for len(b) >= attrHeaderLen {
		kind, data, rest, ok := nextAttr(b)
		if !ok {
			return false
		}
		if kind == storageOne && s.Has&HasStorage == 0 && !s.storage(data) {
			return false
		}
		b = rest
	}
	return true
}

func (s *Sock) storage(b []byte) bool {
	for len(b) >= attrHeaderLen {
		kind, data, rest, ok := nextAttr(b)
		if !ok {
			return false
		}
		if kind == storageValue {
			s.Storage = data
			s.Has |= HasStorage
			return true
		}
		b = rest
	}
	return true
}
