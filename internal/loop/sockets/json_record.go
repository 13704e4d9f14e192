package sockets

import (
	"math"
	"strconv"

	"github.com/congctl/congctl/internal/tcp/record"
)

func (o *object) float(k string, v float64) { o.key(k); o.b = strconv.AppendFloat(o.b, v, 'f', -1, 64) }

func (o *object) int(k string, v int64) { o.key(k); o.b = strconv.AppendInt(o.b, v, 10) }

// AppendRecord adds one connection record as a JSON object, no newline, with the keys of
// docs/format/record.md.
func AppendRecord(b []byte, c *record.Conn) []byte {
	o := object{b: append(b, '{'), first: true}
	o.recordHead(c)
	o.recordArm(c)
	o.recordWindow(c)
	o.open("tcp_info")
	o.uint("len", uint64(c.Info.Len))
	sent := c.Info.Len
	if sent == 0 { // no dump: what congctl itself knows, in fields that no kernel sent
		sent = math.MaxInt
	}
	o.members(infoMembers, &c.Info, sent)
	o.close()
	o.part(c.HasBBR, "bbr_info", bbrMembers, &c.BBR)
	o.bool("info_from_close", c.InfoFromClose)
	o.close()
	return o.b
}

func (o *object) recordHead(c *record.Conn) {
	o.uint("netns", uint64(c.Netns))
	o.uint("cookie", uint64(c.Cookie))
	o.int("window_unix_s", c.Window)
	o.int("at_unix_ns", c.AtNs)
	o.text("end", c.End.String())
	o.text("local", c.Local.Addr().String())
	o.uint("local_port", uint64(c.Local.Port()))
	o.text("remote", c.Remote.Addr().String())
	o.uint("remote_port", uint64(c.Remote.Port()))
	if c.Prefix.Valid() {
		o.text("prefix", c.Prefix.String())
	}
	o.bool("passive", c.Passive)
	o.bool("client_facing", c.ClientFacing)
	o.bool("pre_start", c.PreStart)
	o.bool("mptcp", c.MPTCP)
	o.text("cong", c.Cong)
	o.bool("default_cong", c.DefaultCong)
}

func (o *object) recordArm(c *record.Conn) {
	o.text("assigned", c.Assigned.String())
	o.text("applied", c.Applied.String())
	o.bool("carryover", c.Carryover)
	o.uint("plan", uint64(c.Plan))
	o.uint("crossings", uint64(c.Crossings))
	o.int("crossed_unix_ns", c.CrossedNs)
	o.int("switched_unix_ns", c.SwitchedNs)
}

func (o *object) recordWindow(c *record.Conn) {
	o.uint("win_bytes_acked", c.WinBytesAcked)
	o.uint("win_bytes_sent", c.WinBytesSent)
	o.uint("win_bytes_retrans", c.WinBytesRetrans)
	o.uint("win_bytes_received", c.WinBytesReceived)
	o.uint("win_elapsed_us", c.WinElapsedUs)
	o.uint("win_busy_us", c.WinBusyUs)
	o.uint("win_rwnd_limited_us", c.WinRwndLimitedUs)
	o.uint("win_sndbuf_us", c.WinSndbufUs)
	o.uint("win_counted_bytes_acked", c.WinCountedBytesAcked)
	o.uint("win_counted_bytes_sent", c.WinCountedBytesSent)
	o.uint("win_counted_bytes_retrans", c.WinCountedBytesRetrans)
	o.uint("win_counted_busy_us", c.WinCountedBusyUs)
	o.uint("win_rate_samples", uint64(c.WinRateSamples))
	o.uint("win_limited_samples", uint64(c.WinLimitedSamples))
	o.float("rate_bytes_per_s", c.RateBytesPerS)
	o.text("rate_source", c.RateSource.String())
	o.uint("win_episodes", uint64(c.WinEpisodes))
	o.uint("win_late_samples", uint64(c.WinLateSamples))
	o.float("late_bytes_per_s", c.LateBytesPerS)
	o.bool("capped", c.Capped)
	if n := c.Times(); n > 1 {
		o.uint("weight", n)
	}
}
