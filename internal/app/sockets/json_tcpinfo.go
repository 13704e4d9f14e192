package sockets

import "github.com/congctl/congctl/internal/core/inetdiag"

// info writes the fields of struct tcp_info that this kernel sent, in its order,
// each with the offset of its end. Rates are bytes per second.
func (o *object) info(t *inetdiag.TCPInfo) {
	o.uint("len", uint64(t.Len))
	o.infoHead(t)
	o.infoRates(t)
	o.infoTail(t)
}

func (o *object) upTo(t *inetdiag.TCPInfo, end int, name string, v uint64) {
	if t.Len >= end {
		o.uint(name, v)
	}
}

func (o *object) infoHead(t *inetdiag.TCPInfo) {
	o.upTo(t, 1, "state", uint64(t.State))
	o.upTo(t, 2, "ca_state", uint64(t.CaState))
	o.upTo(t, 3, "retransmits", uint64(t.Retransmits))
	o.upTo(t, 4, "probes", uint64(t.Probes))
	o.upTo(t, 5, "backoff", uint64(t.Backoff))
	o.upTo(t, 6, "options", uint64(t.Options))
	o.upTo(t, 7, "snd_wscale", uint64(t.SndWscale))
	o.upTo(t, 7, "rcv_wscale", uint64(t.RcvWscale))
	if t.Len >= 8 {
		o.bool("delivery_rate_app_limited", t.DeliveryRateAppLimited)
	}
	o.upTo(t, 8, "fastopen_client_fail", uint64(t.FastopenClientFail))
	o.upTo(t, 12, "rto_us", uint64(t.RtoUs))
	o.upTo(t, 16, "ato_us", uint64(t.AtoUs))
	o.upTo(t, 20, "snd_mss", uint64(t.SndMss))
	o.upTo(t, 24, "rcv_mss", uint64(t.RcvMss))
	o.upTo(t, 28, "unacked", uint64(t.Unacked))
	o.upTo(t, 32, "sacked", uint64(t.Sacked))
	o.upTo(t, 36, "lost", uint64(t.Lost))
	o.upTo(t, 40, "retrans", uint64(t.Retrans))
	o.upTo(t, 44, "fackets", uint64(t.Fackets))
	o.upTo(t, 48, "last_data_sent_ms", uint64(t.LastDataSentMs))
	o.upTo(t, 52, "last_ack_sent_ms", uint64(t.LastAckSentMs))
	o.upTo(t, 56, "last_data_recv_ms", uint64(t.LastDataRecvMs))
	o.upTo(t, 60, "last_ack_recv_ms", uint64(t.LastAckRecvMs))
	o.upTo(t, 64, "pmtu", uint64(t.Pmtu))
	o.upTo(t, 68, "rcv_ssthresh", uint64(t.RcvSsthresh))
	o.upTo(t, 72, "rtt_us", uint64(t.RttUs))
	o.upTo(t, 76, "rttvar_us", uint64(t.RttvarUs))
	o.upTo(t, 80, "snd_ssthresh", uint64(t.SndSsthresh))
	o.upTo(t, 84, "snd_cwnd", uint64(t.SndCwnd))
	o.upTo(t, 88, "advmss", uint64(t.Advmss))
	o.upTo(t, 92, "reordering", uint64(t.Reordering))
	o.upTo(t, 96, "rcv_rtt_us", uint64(t.RcvRttUs))
	o.upTo(t, 100, "rcv_space", uint64(t.RcvSpace))
	o.upTo(t, 104, "total_retrans", uint64(t.TotalRetrans))
}

func (o *object) infoRates(t *inetdiag.TCPInfo) {
	o.upTo(t, 112, "pacing_rate", t.PacingRate)
	o.upTo(t, 120, "max_pacing_rate", t.MaxPacingRate)
	o.upTo(t, 128, "bytes_acked", t.BytesAcked)
	o.upTo(t, 136, "bytes_received", t.BytesReceived)
	o.upTo(t, 140, "segs_out", uint64(t.SegsOut))
	o.upTo(t, 144, "segs_in", uint64(t.SegsIn))
	o.upTo(t, 148, "notsent_bytes", uint64(t.NotsentBytes))
	o.upTo(t, 152, "min_rtt_us", uint64(t.MinRttUs))
	o.upTo(t, 156, "data_segs_in", uint64(t.DataSegsIn))
	o.upTo(t, 160, "data_segs_out", uint64(t.DataSegsOut))
	o.upTo(t, 168, "delivery_rate", t.DeliveryRate)
	o.upTo(t, 176, "busy_time_us", t.BusyTimeUs)
	o.upTo(t, 184, "rwnd_limited_us", t.RwndLimitedUs)
	o.upTo(t, 192, "sndbuf_limited_us", t.SndbufLimitedUs)
	o.upTo(t, 196, "delivered", uint64(t.Delivered))
	o.upTo(t, 200, "delivered_ce", uint64(t.DeliveredCe))
}

func (o *object) infoTail(t *inetdiag.TCPInfo) {
	o.upTo(t, 208, "bytes_sent", t.BytesSent)
	o.upTo(t, 216, "bytes_retrans", t.BytesRetrans)
	o.upTo(t, 220, "dsack_dups", uint64(t.DsackDups))
	o.upTo(t, 224, "reord_seen", uint64(t.ReordSeen))
	o.upTo(t, 228, "rcv_ooopack", uint64(t.RcvOoopack))
	o.upTo(t, 232, "snd_wnd", uint64(t.SndWnd))
	o.upTo(t, 236, "rcv_wnd", uint64(t.RcvWnd))
	o.upTo(t, 240, "rehash", uint64(t.Rehash))
	o.upTo(t, 242, "total_rto", uint64(t.TotalRto))
	o.upTo(t, 244, "total_rto_recoveries", uint64(t.TotalRtoRecoveries))
	o.upTo(t, 248, "total_rto_time_ms", uint64(t.TotalRtoTimeMs))
	o.upTo(t, 252, "received_ce", uint64(t.ReceivedCe))
	o.upTo(t, 256, "delivered_e1_bytes", uint64(t.DeliveredE1Bytes))
	o.upTo(t, 260, "delivered_e0_bytes", uint64(t.DeliveredE0Bytes))
	o.upTo(t, 264, "delivered_ce_bytes", uint64(t.DeliveredCeBytes))
	o.upTo(t, 268, "received_e1_bytes", uint64(t.ReceivedE1Bytes))
	o.upTo(t, 272, "received_e0_bytes", uint64(t.ReceivedE0Bytes))
	o.upTo(t, 276, "received_ce_bytes", uint64(t.ReceivedCeBytes))
	o.upTo(t, 278, "accecn_fail_mode", uint64(t.AccecnFailMode))
	o.upTo(t, 280, "accecn_opt_seen", uint64(t.AccecnOptSeen))
}
