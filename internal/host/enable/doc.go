// Package enable plans how to turn a congestion control on for good, on one host: facts in, writes
// out, with what is left alone and what is missing.
//
// It reads and writes nothing: host/kernel/inspect gathers the facts, change/kernel/carry carries out and
// undoes the writes. It does not judge how good the host is: host/advise does.
//
// Its trap: the congestion control of IPv4 and IPv6 is the one setting
// net.ipv4.tcp_congestion_control. There is none for IPv6, and none is missing.
package enable
