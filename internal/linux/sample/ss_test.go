package sample

import (
	"fmt"
	"math"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// What ss prints, from its text and from a decoded Sock, both as the same keys,
// so that two independent decoders of the same kernel can be compared.

// ssArgs: every TCP socket, numeric, one line each, all details.
var ssArgs = []string{"-tainHOem"}

func needSS(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("ss"); err != nil {
		t.Skip("needs ss (iproute2); no minimum kernel")
	}
}

// runSS returns each socket's fields by cookie.
func runSS(t testing.TB) map[uint64]map[string]string {
	t.Helper()
	text, err := exec.Command("ss", ssArgs...).Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[uint64]map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := parseSS(line)
		cookie, err := strconv.ParseUint(fields["sk"], 16, 64)
		if err != nil {
			t.Fatalf("no cookie in %q", line)
		}
		all[cookie] = fields
	}
	return all
}

func parseSS(line string) map[string]string {
	words := strings.Fields(line)
	f := map[string]string{"state": words[0], "rqueue": words[1], "wqueue": words[2], "local": words[3], "peer": words[4]}
	for i := 5; i < len(words); i++ {
		word := words[i]
		key, value, colon := strings.Cut(word, ":")
		switch {
		case word == "send" || word == "pacing_rate" || word == "delivery_rate":
			i++
			f[word] = words[i]
		case key == "timer":
			parts := strings.Split(strings.Trim(value, "()"), ",")
			f["timer"], f["timer_expires"], f["timer_retrans"] = parts[0], parts[1], parts[2]
		case strings.ContainsAny(word, "<>") || word == "---":
			f["shutdown"] = word
		case colon:
			f[key] = value
		case word == "cubic" || word == "bbr" || word == "reno":
			f["cong"] = word
		default:
			f[word] = "yes"
		}
	}
	return f
}

var ssStates = map[uint8]string{
	1: "ESTAB", 2: "SYN-SENT", 3: "SYN-RECV", 4: "FIN-WAIT-1", 5: "FIN-WAIT-2", 6: "TIME-WAIT",
	7: "UNCONN", 8: "CLOSE-WAIT", 9: "LAST-ACK", 10: "LISTEN", 11: "CLOSING",
}

// asSS says what ss would print of a socket.
func asSS(s *inetdiag.Sock) map[string]string {
	f := ssFields{}
	f.set("state", ssStates[s.State])
	f.set("rqueue", strconv.Itoa(int(s.Rqueue)))
	f.set("wqueue", strconv.Itoa(int(s.Wqueue)))
	f.set("local", ssAddr(s.Local))
	f.set("peer", ssAddr(s.Remote))
	f.set("sk", strconv.FormatUint(s.Cookie, 16))
	f.number("uid", uint64(s.UID))
	f.set("ino", strconv.Itoa(int(s.Inode)))
	if s.Timer > 0 {
		f.set("timer", [...]string{"off", "on", "keepalive", "timewait", "persist"}[s.Timer])
		f.set("timer_retrans", strconv.Itoa(int(s.Retrans)))
		f.set("timer_expires", "")
	}
	f.hex("fwmark", s.Mark)
	if s.Has&inetdiag.HasV6Only != 0 {
		f.set("v6only", map[bool]string{false: "0", true: "1"}[s.V6Only])
	}
	if s.Has&inetdiag.HasShutdown != 0 {
		left, right := "<", ">"
		if s.Shutdown&1 != 0 {
			left = "-"
		}
		if s.Shutdown&2 != 0 {
			right = "-"
		}
		f.set("shutdown", left+"-"+right)
	}
	if s.Has&inetdiag.HasSKMem != 0 {
		m := s.SKMem
		f.set("skmem", fmt.Sprintf("(r%d,rb%d,t%d,tb%d,f%d,w%d,o%d,bl%d,d%d)", m.RmemAlloc, m.Rcvbuf, m.WmemAlloc,
			m.Sndbuf, m.FwdAlloc, m.WmemQueued, m.Optmem, m.Backlog, m.Drops))
	}
	f.set("cong", s.Cong.String())
	if s.Has&inetdiag.HasBBR != 0 {
		b := s.BBR
		f.set("bbr", fmt.Sprintf("(bw:%dbps,mrtt:%s,pacing_gain:%s,cwnd_gain:%s)", b.BwBytesPerS*8, ms(b.MinRttUs),
			general(float64(b.PacingGain)/256), general(float64(b.CwndGain)/256)))
	}
	if s.Has&inetdiag.HasInfo != 0 {
		f.info(&s.Info)
	}
	return f
}

type ssFields map[string]string

func (f ssFields) set(key, value string) { f[key] = value }

func (f ssFields) number(key string, v uint64) {
	if v != 0 {
		f[key] = strconv.FormatUint(v, 10)
	}
}

func (f ssFields) hex(key string, v uint32) {
	if v != 0 {
		f[key] = fmt.Sprintf("0x%x", v)
	}
}

func (f ssFields) millis(key string, us uint32) {
	if us != 0 && us != math.MaxUint32 {
		f[key] = ms(us)
	}
}

func (f ssFields) rate(key string, bytesPerS uint64) {
	if bytesPerS != 0 && bytesPerS != math.MaxUint64 {
		f[key] = fmt.Sprintf("%.0fbps", float64(bytesPerS)*8)
	}
}

func (f ssFields) info(t *inetdiag.TCPInfo) {
	for i, name := range []string{"ts", "sack", "", "ecn", "ecnseen", "fastopen"} {
		if name != "" && t.Options>>i&1 != 0 {
			f[name] = "yes"
		}
	}
	if t.Options&4 != 0 {
		f.set("wscale", fmt.Sprintf("%d,%d", t.SndWscale, t.RcvWscale))
	}
	if t.DeliveryRateAppLimited {
		f.set("app_limited", "yes")
	}
	if t.RtoUs != 3000000 {
		f.millis("rto", t.RtoUs)
	}
	if t.RttUs != 0 {
		f.set("rtt", ms(t.RttUs)+"/"+ms(t.RttvarUs))
		f.set("send", fmt.Sprintf("%.0fbps", float64(t.SndCwnd)*float64(t.SndMss)*8e6/float64(t.RttUs)))
	}
	f.millis("ato", t.AtoUs)
	f.millis("rcv_rtt", t.RcvRttUs)
	f.millis("minrtt", t.MinRttUs)
	f.rate("pacing_rate", t.PacingRate)
	if t.MaxPacingRate != math.MaxUint64 && t.PacingRate != 0 {
		f["pacing_rate"] += fmt.Sprintf("/%.0fbps", float64(t.MaxPacingRate)*8)
	}
	f.rate("delivery_rate", t.DeliveryRate)
	if t.BusyTimeUs != 0 {
		f.set("busy", fmt.Sprintf("%dms", t.BusyTimeUs/1000))
		f.share("rwnd_limited", t.RwndLimitedUs, t.BusyTimeUs)
		f.share("sndbuf_limited", t.SndbufLimitedUs, t.BusyTimeUs)
	}
	if t.Retrans|t.TotalRetrans != 0 {
		f.set("retrans", fmt.Sprintf("%d/%d", t.Retrans, t.TotalRetrans))
	}
	if t.SndSsthresh < 0xffff {
		f.number("ssthresh", uint64(t.SndSsthresh))
	}
	if t.Reordering != 3 {
		f.number("reordering", uint64(t.Reordering))
	}
	if t.State != inetdiag.StateListen {
		f.number("sacked", uint64(t.Sacked))
	}
	f.counters(t)
}

func (f ssFields) counters(t *inetdiag.TCPInfo) {
	for _, c := range []struct {
		key string
		v   uint64
	}{
		{"backoff", uint64(t.Backoff)}, {"mss", uint64(t.SndMss)}, {"pmtu", uint64(t.Pmtu)}, {"rcvmss", uint64(t.RcvMss)},
		{"advmss", uint64(t.Advmss)}, {"cwnd", uint64(t.SndCwnd)}, {"bytes_sent", t.BytesSent},
		{"bytes_retrans", t.BytesRetrans}, {"bytes_acked", t.BytesAcked}, {"bytes_received", t.BytesReceived},
		{"segs_out", uint64(t.SegsOut)}, {"segs_in", uint64(t.SegsIn)}, {"data_segs_out", uint64(t.DataSegsOut)},
		{"data_segs_in", uint64(t.DataSegsIn)}, {"lastsnd", uint64(t.LastDataSentMs)}, {"lastrcv", uint64(t.LastDataRecvMs)},
		{"lastack", uint64(t.LastAckRecvMs)}, {"delivered", uint64(t.Delivered)}, {"delivered_ce", uint64(t.DeliveredCe)},
		{"unacked", uint64(t.Unacked)}, {"lost", uint64(t.Lost)}, {"dsack_dups", uint64(t.DsackDups)},
		{"fackets", uint64(t.Fackets)}, {"reord_seen", uint64(t.ReordSeen)}, {"rcv_space", uint64(t.RcvSpace)},
		{"rcv_ssthresh", uint64(t.RcvSsthresh)}, {"notsent", uint64(t.NotsentBytes)}, {"rcv_ooopack", uint64(t.RcvOoopack)},
		{"snd_wnd", uint64(t.SndWnd)},
	} {
		f.number(c.key, c.v)
	}
}

func (f ssFields) share(key string, us, busyUs uint64) {
	if us != 0 {
		f.set(key, fmt.Sprintf("%dms(%.1f%%)", us/1000, 100*float64(us)/float64(busyUs)))
	}
}

func ms(us uint32) string      { return general(float64(us) / 1000) }
func general(v float64) string { return fmt.Sprintf("%.6g", v) } // C's %g
func ssAddr(a netip.AddrPort) string {
	text := a.String()
	if a.Port() == 0 {
		return strings.TrimSuffix(text, "0") + "*"
	}
	return text
}
