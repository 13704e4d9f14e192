// Package enable plans what turns a congestion control on for good, on one host: facts
// in, writes out, with what is left alone and what is missing.
//
// It reads and writes nothing: kernel/host gathers the facts, kernel/change carries the
// writes out and takes them back. It does not judge how good the host is: core/advise
// does.
//
// Its trap: the congestion control of IPv4 and IPv6 is the one setting
// net.ipv4.tcp_congestion_control. There is none for IPv6, and none is missing.
package enable
