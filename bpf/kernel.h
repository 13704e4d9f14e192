/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * The few kernel types that the programs read, cut to the fields used. CO-RE
 * relocates every access against the running kernel's BTF, so order and padding
 * here mean nothing; a field that some kernel lacks is guarded where it is used.
 * uapi numbers come from include/uapi/linux/bpf.h.
 */
#ifndef CONGCTL_KERNEL_H
#define CONGCTL_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef short __s16;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __sum16;
typedef __u32 __wsum;

enum { BPF_ANY = 0 };
enum bpf_map_type_used {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};
#define BPF_F_NO_PREALLOC 1
#define BPF_F_MMAPABLE (1U << 10)
#define BPF_F_RDONLY_PROG (1U << 7)
#define BPF_SK_STORAGE_GET_F_CREATE 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2
#define BPF_RB_AVAIL_DATA 0

#define BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB 5
#define BPF_SOCK_OPS_STATE_CB 10
#define BPF_SOCK_OPS_RTT_CB 12
#define BPF_SOCK_OPS_HDR_OPT_LEN_CB 14
#define BPF_WRITE_HDR_TCP_CURRENT_MSS 1
#define BPF_SOCK_OPS_STATE_CB_FLAG (1 << 2)
#define BPF_SOCK_OPS_RTT_CB_FLAG (1 << 3)
#define BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG (1 << 6)
#define TCP_BPF_SOCK_OPS_CB_FLAGS 1008

#define AF_INET 2
#define AF_INET6 10
#define SOL_SOCKET 1
#define SO_MAX_PACING_RATE 47
#define SOL_TCP 6
#define TCP_CONGESTION 13
#define TCP_CLOSE 7
#define TCP_CA_OPEN 0
#define TCP_CA_RECOVERY 3 /* and 4, Loss: the state machine of losses; below it nothing is lost yet */

struct bpf_sock { __u32 family; };

/* uapi: the context; accesses are rewritten by the verifier, not by CO-RE. */
struct bpf_sock_ops {
	__u32 op;
	union {
		__u32 args[4];
		__u32 reply;
		__u32 replylong[4];
	};
	__u32 family;
	__u32 remote_ip4;
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port;
	__u32 local_port;
	__u32 is_fullsock;
	__u32 snd_cwnd;
	__u32 srtt_us;
	__u32 bpf_sock_ops_cb_flags;
	__u32 state;
	__u32 rtt_min;
	__u32 snd_ssthresh;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 mss_cache;
	__u32 ecn_flags;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	__u32 packets_out;
	__u32 retrans_out;
	__u32 total_retrans;
	__u32 segs_in;
	__u32 data_segs_in;
	__u32 segs_out;
	__u32 data_segs_out;
	__u32 lost_out;
	__u32 sacked_out;
	__u32 sk_txhash;
	__u64 bytes_received;
	__u64 bytes_acked;
	union { struct bpf_sock *sk; __u64 sk_pad; };
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common { __u16 skc_family; };
struct sock { struct sock_common __sk_common; unsigned long sk_max_pacing_rate; };
struct inet_sock { struct sock sk; };

struct tcp_congestion_ops { char name[16]; };

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct tcp_congestion_ops *icsk_ca_ops;
	__u8 icsk_ca_state : 5;
	__u8 icsk_retransmits;
};

struct minmax_sample { __u32 t, v; };
struct minmax { struct minmax_sample s[3]; };

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u64 bytes_acked, bytes_received, bytes_sent, bytes_retrans;
	__u64 tcp_mstamp;            /* CLOCK_MONOTONIC of the packet in hand, us */
	__u32 snd_una, snd_nxt, write_seq, high_seq, mss_cache; /* high_seq: acknowledged, it ends a recovery */
	__u32 srtt_us, mdev_us;      /* srtt is 8 x, mdev is 4 x the value in us */
	struct minmax rtt_min;
	__u32 snd_cwnd, snd_ssthresh;
	__u32 segs_out, segs_in, data_segs_out, data_segs_in, total_retrans, lost;
	__u32 delivered, delivered_ce, dsack_dups, reord_seen;
	__u32 rate_delivered, rate_interval_us;
	__u8 rate_app_limited : 1;
	__u8 chrono_type : 2;
	__u32 chrono_start, chrono_stat[3]; /* jiffies; 0 busy, 1 rwnd-limited, 2 sndbuf-limited */
	_Bool is_mptcp;
	__u8 bpf_sock_ops_cb_flags;
};

struct seq_file;
struct bpf_iter_meta { struct seq_file *seq; __u64 session_id, seq_num; };
struct bpf_iter__tcp {
	union { struct bpf_iter_meta *meta; __u64 meta_pad; };
	union { struct sock_common *sk_common; __u64 sk_pad; };
};

#pragma clang attribute pop

#endif
