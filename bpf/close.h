/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* The record of a connection's end: lifetime counters, the path as it was last, the mark. */
#ifndef CONGCTL_CLOSE_H
#define CONGCTL_CLOSE_H

static __always_inline void close_counters(struct close_record *r, struct tcp_sock *tp)
{
	r->bytes_acked = tp->bytes_acked;
	r->bytes_received = tp->bytes_received;
	r->bytes_sent = tp->bytes_sent;
	r->bytes_retrans = tp->bytes_retrans;
	r->segs_out = tp->segs_out;
	r->segs_in = tp->segs_in;
	r->data_segs_out = tp->data_segs_out;
	r->data_segs_in = tp->data_segs_in;
	r->total_retrans = tp->total_retrans;
	r->lost = tp->lost;
	r->delivered = tp->delivered;
	r->delivered_ce = tp->delivered_ce;
	r->dsack_dups = tp->dsack_dups;
	r->reord_seen = tp->reord_seen;
}

static __always_inline void close_path(struct close_record *r, struct tcp_sock *tp)
{
	r->srtt_us = tp->srtt_us >> 3;
	r->rttvar_us = tp->mdev_us >> 2;
	r->min_rtt_us = tp->rtt_min.s[0].v;
	r->snd_cwnd = tp->snd_cwnd;
	r->snd_ssthresh = tp->snd_ssthresh;
	r->snd_mss = tp->mss_cache;
	r->retransmits = tp->inet_conn.icsk_retransmits;
	r->ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	r->app_limited = BPF_CORE_READ_BITFIELD(tp, rate_app_limited);
	r->delivery_rate = rate_of(tp->rate_delivered, tp->mss_cache, tp->rate_interval_us);

	/* tcp_get_info_chrono_stats: the running period belongs to its own kind. */
	__u32 rwnd = tp->chrono_stat[1], sndbuf = tp->chrono_stat[2];
	__u32 run = (__u32)bpf_jiffies64() - tp->chrono_start;
	__u8 type = BPF_CORE_READ_BITFIELD(tp, chrono_type);
	if (type == CHRONO_RWND)
		rwnd += run;
	else if (type == CHRONO_SNDBUF)
		sndbuf += run;
	r->busy_us = busy_us(tp);
	r->rwnd_limited_us = (__u64)rwnd * jiffy_us;
	r->sndbuf_limited_us = (__u64)sndbuf * jiffy_us;
	cong_name(tp, r->cong);
}

static __always_inline void on_close(struct bpf_sock_ops *ops)
{
	struct mark *m;
	struct tcp_sock *tp = followed(ops, &m);
	if (!tp)
		return;
	struct close_record *r = bpf_ringbuf_reserve(&closes, sizeof(*r), 0);
	if (!r) {
		count(STAT_RING_FULL);
		return;
	}
	r->cookie = bpf_get_socket_cookie(ops);
	r->netns = bpf_get_netns_cookie(ops);
	r->at_ns = bpf_ktime_get_boot_ns();
	remote_addr(ops, (__u32 *)r->remote);
	local_addr(ops, (__u32 *)r->local);
	r->local_port = ops->local_port;
	r->remote_port = bpf_ntohl(ops->remote_port);
	r->old_state = ops->args[0];
	__builtin_memcpy(&r->mark, m, sizeof(*m));
	close_counters(r, tp);
	close_path(r, tp);
	count(STAT_CLOSED);
	__u64 waiting = bpf_ringbuf_query(&closes, BPF_RB_AVAIL_DATA);
	bpf_ringbuf_submit(r, waiting >= wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

#endif
