// SPDX-License-Identifier: GPL-2.0-only
/*
 * cubic_lt as a struct_ops program over the kfuncs of the kernel's CUBIC. The kfuncs are for programs under the GPL.
 * Needs Linux 6.4 (a struct_ops link); the signature of cong_control changed in 6.10, so there are two.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef short s16;
typedef int s32;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef long long __s64;
typedef s32 __s32;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
typedef _Bool bool;
#define false 0
#define true 1

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

/* The kernel's types, cut to the fields used: CO-RE finds each in the running kernel. */
#define CORE __attribute__((preserve_access_index))
struct netns_ipv4 {
	int sysctl_tcp_pacing_ss_ratio, sysctl_tcp_pacing_ca_ratio, sysctl_tcp_reordering;
	u8 sysctl_tcp_slow_start_after_idle;
} CORE;
struct net {
	struct netns_ipv4 ipv4;
} CORE;
typedef struct {
	struct net *net;
} CORE possible_net_t;
struct sock_common {
	possible_net_t skc_net;
} CORE;
struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate, sk_max_pacing_rate;
} CORE;
struct inet_connection_sock {
	u32 icsk_rto;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
} CORE;
struct minmax_sample {
	u32 t, v;
} CORE;
struct minmax {
	struct minmax_sample s[3];
} CORE;
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 srtt_us, mss_cache, lsndtime, reordering, undo_marker;
	u32 snd_cwnd, snd_ssthresh, snd_cwnd_clamp, max_packets_out;
	u32 packets_out, sacked_out, lost_out, retrans_out, prior_cwnd, prr_delivered, prr_out;
	u32 snd_una, lost, delivered;
	u64 tcp_mstamp;
	struct minmax rtt_min;
	u8 is_cwnd_limited : 1;
} CORE;
struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
} CORE;
struct rate_sample {
	int losses;
	u32 acked_sacked;
} CORE;
enum tcp_ca_event { CA_EVENT_TX_START };
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *);
	void (*set_state)(struct sock *, u8);
	void (*cwnd_event)(struct sock *, enum tcp_ca_event);
	void (*in_ack_event)(struct sock *, u32);
	void (*pkts_acked)(struct sock *, const struct ack_sample *);
	void (*cong_control)(struct sock *, u32, int, const struct rate_sample *);
	u32 (*undo_cwnd)(struct sock *);
	void (*init)(struct sock *);
	char name[16];
} CORE;

extern void cubictcp_init(struct sock *) __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *) __ksym;
extern void cubictcp_cong_avoid(struct sock *, u32, u32) __ksym;
extern void cubictcp_state(struct sock *, u8) __ksym;
extern void cubictcp_cwnd_event(struct sock *, enum tcp_ca_event) __ksym;
extern void cubictcp_acked(struct sock *, const struct ack_sample *) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *, u32, u32) __ksym;

#define stock_init cubictcp_init
#define stock_ssthresh cubictcp_recalc_ssthresh
#define stock_cong_avoid cubictcp_cong_avoid
#define stock_set_state cubictcp_state
#define stock_acked cubictcp_acked
#define tcp_sk(sk) ((struct tcp_sock *)(sk))
#define inet_csk(sk) (&tcp_sk(sk)->inet_conn)
#define inet_csk_ca(sk) ((struct lt *)inet_csk(sk)->icsk_ca_priv)
#define sock_net(sk) ((sk)->__sk_common.skc_net.net)
#define lt_ca_state(sk) BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state)
#define lt_jiffies() ((u32)bpf_jiffies64())

static __always_inline bool tcp_is_cwnd_limited(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

#include "cubic_lt.h"

_Static_assert(sizeof(struct lt) <= sizeof(u64[13]), "icsk_ca_priv");

SEC("struct_ops") void BPF_PROG(cubic_lt_init, struct sock *sk)
{
	lt_init(sk, inet_csk_ca(sk));
}

SEC("struct_ops") void BPF_PROG(cubic_lt_acked, struct sock *sk, const struct ack_sample *sample)
{
	lt_acked(sk, inet_csk_ca(sk), sample);
}

SEC("struct_ops") void BPF_PROG(cubic_lt_in_ack_event, struct sock *sk, u32 flags)
{
	inet_csk_ca(sk)->ce = !!(flags & LT_ACK_ECE);
}

SEC("struct_ops") u32 BPF_PROG(cubic_lt_ssthresh, struct sock *sk)
{
	return lt_ssthresh(sk, inet_csk_ca(sk));
}

SEC("struct_ops") void BPF_PROG(cubic_lt_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	lt_cong_control(sk, inet_csk_ca(sk), rs->acked_sacked, rs->losses);
}

SEC("struct_ops") void BPF_PROG(cubic_lt_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
	if (event == CA_EVENT_TX_START)
		lt_restart(sk, inet_csk_ca(sk));
}

SEC("struct_ops") void BPF_PROG(cubic_lt_set_state, struct sock *sk, u8 state)
{
	lt_set_state(sk, inet_csk_ca(sk), state);
}

SEC("struct_ops") u32 BPF_PROG(cubic_lt_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops cubic_lt = {
	.init = (void *)cubic_lt_init,
	.ssthresh = (void *)cubic_lt_ssthresh,
	.cong_control = (void *)cubic_lt_cong_control,
	.set_state = (void *)cubic_lt_set_state,
	.undo_cwnd = (void *)cubic_lt_undo_cwnd,
	.cwnd_event = (void *)cubic_lt_cwnd_event,
	.in_ack_event = (void *)cubic_lt_in_ack_event,
	.pkts_acked = (void *)cubic_lt_acked,
	.name = "cubic_lt",
};

/* Linux 6.4 to 6.9; the loader has one of the two. */
SEC("struct_ops") void BPF_PROG(cubic_lt_cong_control_old, struct sock *sk, const struct rate_sample *rs)
{
	lt_cong_control(sk, inet_csk_ca(sk), rs->acked_sacked, rs->losses);
}

char _license[] SEC("license") = "GPL";
