// Package inetdiag turns the bytes of the kernel's socket diagnosis (inet_diag
// over netlink) into structs: messages, sockets, every attribute; and writes the
// request with its port filter. It is not a client: it opens no socket and reads
// no clock; linux/sample does.
//
// The trap: sizes come from the wire, never from this version's structs. A
// kernel may send a shorter or longer tcp_info than the one known here, so every
// attribute is read by its own length and what is missing is zero.
//
// Only little-endian hosts are supported: netlink is in host order, and the
// bit fields of tcp_info swap places on big-endian machines.
//
// Sources: include/uapi/linux/{netlink,sock_diag,inet_diag,tcp}.h and
// net/ipv4/{inet_diag,tcp_diag}.c of Linux 6.18.
package inetdiag
