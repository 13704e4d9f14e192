package inetdiag

// The inverse of Decode, field by field: it writes what the kernel would, so that decoding the
// result gives the same Sock.

// Append adds the payload of one socket message: inet_diag_msg and the
// attributes that s.Has names. tcp_info is written s.Info.Len bytes long.
func (s *Sock) Append(b []byte) []byte {
	b = s.appendHead(b)
	if s.Has&HasMem != 0 {
		b = appendAttr(b, attrMem, s.Mem.append(nil))
	}
	if s.Has&HasInfo != 0 {
		b = appendAttr(b, attrInfo, s.Info.append(nil))
	}
	if s.Has&HasVegas != 0 {
		b = appendAttr(b, attrVegas, s.Vegas.append(nil))
	}
	if s.Has&HasDCTCP != 0 {
		b = appendAttr(b, attrDCTCP, s.DCTCP.append(nil))
	}
	if s.Has&HasBBR != 0 {
		b = appendAttr(b, attrBBR, s.BBR.append(nil))
	}
	if s.Has&HasCong != 0 {
		b = appendAttr(b, attrCong, append([]byte(s.Cong.String()), 0))
	}
	if s.Has&HasSKMem != 0 {
		b = appendAttr(b, attrSKMem, s.SKMem.append(nil))
	}
	b = s.appendWords(b)
	if s.Has&HasULP != 0 {
		b = appendAttr(b, attrULP, s.ULP.append(nil))
	}
	if s.Has&HasStorage != 0 {
		one := appendAttr(nil, storageMapID, make([]byte, 4))
		one = appendAttr(one, storageValue, s.Storage)
		b = appendAttr(b, attrStorages, appendAttr(nil, storageOne, one))
	}
	if s.Has&HasUnknown != 0 {
		b = appendAttr(b, attrTypeMask, nil)
	}
	return b
}

func (s *Sock) appendHead(b []byte) []byte {
	var m [MsgLen]byte
	m[0], m[1], m[2], m[3] = s.Family, s.State, s.Timer, s.Retrans
	m[4], m[5] = byte(s.Local.Port()>>8), byte(s.Local.Port())
	m[6], m[7] = byte(s.Remote.Port()>>8), byte(s.Remote.Port())
	copy(m[8:24], s.Local.Addr().AsSlice())
	copy(m[24:40], s.Remote.Addr().AsSlice())
	le.PutUint32(m[40:], s.Interface)
	le.PutUint32(m[44:], uint32(s.Cookie))
	le.PutUint32(m[48:], uint32(s.Cookie>>32))
	for i, v := range [...]uint32{s.ExpiresMs, s.Rqueue, s.Wqueue, s.UID, s.Inode} {
		le.PutUint32(m[52+4*i:], v)
	}
	return append(b, m[:]...)
}

func (s *Sock) appendWords(b []byte) []byte {
	octet := func(has Attrs, kind uint16, v uint8) {
		if s.Has&has != 0 {
			b = appendAttr(b, kind, []byte{v})
		}
	}
	word := func(has Attrs, kind uint16, v uint32) {
		if s.Has&has != 0 {
			b = appendAttr(b, kind, le.AppendUint32(nil, v))
		}
	}
	octet(HasShutdown, attrShutdown, s.Shutdown)
	octet(HasTOS, attrTOS, s.TOS)
	octet(HasTClass, attrTClass, s.TClass)
	octet(HasV6Only, attrV6Only, bit(s.V6Only))
	word(HasMark, attrMark, s.Mark)
	word(HasClassID, attrClassID, s.ClassID)
	if s.Has&HasCgroupID != 0 {
		b = appendAttr(b, attrCgroupID, le.AppendUint64(nil, s.CgroupID))
	}
	if s.Has&HasSockOpt != 0 {
		b = appendAttr(b, attrSockOpt, le.AppendUint16(nil, uint16(s.SockOpt)))
	}
	return b
}

func (u *ULPInfo) append(b []byte) []byte {
	b = appendAttr(b, ulpName, append([]byte(u.Name.String()), 0))
	if u.TLS {
		b = appendAttr(b, ulpTLS, nil)
	}
	if u.MPTCP {
		b = appendAttr(b, ulpMPTCP, nil)
	}
	return b
}

func bit(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}

func (t *TCPInfo) append(b []byte) []byte {
	p := make([]byte, 0, TCPInfoLen)
	p = append(p, t.State, t.CaState, t.Retransmits, t.Probes, t.Backoff, t.Options,
		t.SndWscale&15|t.RcvWscale<<4, bit(t.DeliveryRateAppLimited)|t.FastopenClientFail&3<<1)
	p = appendWords(p, t.RtoUs, t.AtoUs, t.SndMss, t.RcvMss, t.Unacked, t.Sacked, t.Lost, t.Retrans,
		t.Fackets, t.LastDataSentMs, t.LastAckSentMs, t.LastDataRecvMs, t.LastAckRecvMs, t.Pmtu,
		t.RcvSsthresh, t.RttUs, t.RttvarUs, t.SndSsthresh, t.SndCwnd, t.Advmss, t.Reordering,
		t.RcvRttUs, t.RcvSpace, t.TotalRetrans)
	p = appendLongs(p, t.PacingRate, t.MaxPacingRate, t.BytesAcked, t.BytesReceived)
	p = appendWords(p, t.SegsOut, t.SegsIn, t.NotsentBytes, t.MinRttUs, t.DataSegsIn, t.DataSegsOut)
	p = appendLongs(p, t.DeliveryRate, t.BusyTimeUs, t.RwndLimitedUs, t.SndbufLimitedUs)
	p = appendWords(p, t.Delivered, t.DeliveredCe)
	p = appendLongs(p, t.BytesSent, t.BytesRetrans)
	p = appendWords(p, t.DsackDups, t.ReordSeen, t.RcvOoopack, t.SndWnd, t.RcvWnd, t.Rehash)
	p = le.AppendUint16(p, t.TotalRto)
	p = le.AppendUint16(p, t.TotalRtoRecoveries)
	p = appendWords(p, t.TotalRtoTimeMs, t.ReceivedCe, t.DeliveredE1Bytes, t.DeliveredE0Bytes,
		t.DeliveredCeBytes, t.ReceivedE1Bytes, t.ReceivedE0Bytes, t.ReceivedCeBytes)
	p = le.AppendUint16(p, t.AccecnFailMode)
	p = le.AppendUint16(p, t.AccecnOptSeen)
	for len(p) < t.Len {
		p = append(p, 0)
	}
	return append(b, p[:t.Len]...)
}

func appendLongs(b []byte, longs ...uint64) []byte {
	for _, v := range longs {
		b = le.AppendUint64(b, v)
	}
	return b
}

func appendWords(b []byte, words ...uint32) []byte {
	for _, w := range words {
		b = le.AppendUint32(b, w)
	}
	return b
}

func (v *BBRInfo) append(b []byte) []byte {
	b = le.AppendUint64(b, v.BwBytesPerS) // bbr_bw_lo, bbr_bw_hi
	return appendWords(b, v.MinRttUs, v.PacingGain, v.CwndGain)
}

func (v *VegasInfo) append(b []byte) []byte {
	return appendWords(b, v.Enabled, v.RttCnt, v.RttUs, v.MinRttUs)
}

func (v *DCTCPInfo) append(b []byte) []byte {
	b = le.AppendUint16(b, v.Enabled)
	b = le.AppendUint16(b, v.CeState)
	return appendWords(b, v.Alpha, v.AbEcn, v.AbTot)
}

func (v *MemInfo) append(b []byte) []byte {
	return appendWords(b, v.Rmem, v.Wmem, v.Fmem, v.Tmem)
}

func (v *SKMemInfo) append(b []byte) []byte {
	return appendWords(b, v.RmemAlloc, v.Rcvbuf, v.WmemAlloc, v.Sndbuf, v.FwdAlloc,
		v.WmemQueued, v.Optmem, v.Backlog, v.Drops)
}
