package world

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Idea: TCP whose pacing rate is zero does not pace. It computes a packet's departure
// as the last one's plus length / rate, and leaves that out where the rate is 0
// (tcp_update_skb_after_send in net/ipv4/tcp_output.c; tcp_internal_pacing up to 4.19).
// BBR sets min(its rate, SO_MAX_PACING_RATE) as the rate and goes on as before: its
// window alone limits what it sends. inet_diag then tells a pacing rate of 0.
//
// The obvious way does not do: a socket that once sent through fq leaves pacing to fq
// for ever (SK_PACING_FQ), also where fq is gone. But since 4.20 TCP stamps packets with
// the departure that it expects of fq and takes round trips from these stamps: on a path
// of 40 ms BBR of 6.1 then measured a minimum of 22 ms, and sent for that one.
//
// Price: TCP sizes its super-packets by the pacing rate and, since 5.18, the round trip.
// The first part is gone: they are shorter, before 5.18 single packets. And BBR, which
// adds three super-packets to its window, adds three packets.

// neverPace keeps a listener's connections from pacing themselves.
func neverPace(listener int) error {
	const bytesPerS = 0
	if err := unix.SetsockoptInt(listener, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, bytesPerS); err != nil {
		return fmt.Errorf("turn TCP's pacing off: %w", err)
	}
	return nil
}
