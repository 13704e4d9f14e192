package inetdiag

import "unsafe"

// The small attribute structs of [Sock] have the kernel's layout in memory, little-endian as
// all of this package. Of one that comes shorter the rest is zero, of a longer one the end is
// cut.
//
// Source: struct tcp_bbr_info, tcpvegas_info, tcp_dctcp_info, inet_diag_meminfo
// (include/uapi/linux/inet_diag.h), SK_MEMINFO_* (sock_diag.h), nested
// INET_ULP_INFO_* and SK_DIAG_BPF_STORAGE_* (inet_diag.h, sock_diag.h).

// part copies an attribute over the struct, which is zero.
func part[T any](s *Sock, to *T, b []byte, has Attrs) bool {
	fill(to, b[:min(len(b), int(unsafe.Sizeof(*to)))])
	s.Has |= has
	return true
}

// number is part for an integer, of which a part means nothing.
func number[T any](s *Sock, to *T, b []byte, has Attrs) bool {
	return len(b) >= int(unsafe.Sizeof(*to)) && part(s, to, b, has)
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
	s.Has |= HasULP
	return eachAttr(b, func(kind uint16, data []byte) bool {
		switch kind {
		case ulpName:
			s.ULP.Name = congFrom(data)
		case ulpTLS:
			s.ULP.TLS = true
		case ulpMPTCP:
			s.ULP.MPTCP = true
		}
		return true
	})
}

// eachAttr calls do for each nested attribute, and reports false at a broken one or as soon
// as do does.
func eachAttr(b []byte, do func(kind uint16, data []byte) bool) bool {
	for len(b) >= attrHeaderLen {
		kind, data, rest, ok := nextAttr(b)
		if !ok || !do(kind, data) {
			return false
		}
		b = rest
	}
	return true
}

const (
	storageOne   = 1 // SK_DIAG_BPF_STORAGE: one map's nest inside the array
	storageMapID = 2
	storageValue = 3
)

// storages keeps the value of the first map; a Request asks for one map only.
func (s *Sock) storages(b []byte) bool {
	return eachAttr(b, func(kind uint16, one []byte) bool {
		return kind != storageOne || eachAttr(one, func(kind uint16, data []byte) bool {
			if kind == storageValue && s.Has&HasStorage == 0 {
				s.Storage = data
				s.Has |= HasStorage
			}
			return true
		})
	})
}
