/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * The layout that the kernel programs and internal/tcp/abi share. All integers
 * are in host order. Every struct is padded by hand to 8 bytes, and its size and
 * offsets are compared with Go's by a test that reads the object's BTF.
 *
 * Clock: "ns" is CLOCK_BOOTTIME (bpf_ktime_get_boot_ns), so that a wall-clock
 * step moves no block and no expiry.
 */
#ifndef CONGCTL_H
#define CONGCTL_H

/* Arms and outcomes: internal/tcp/record/arm.go has their meaning. */
enum arm { ARM_NONE, ARM_T, ARM_C, ARM_HOLDOUT, ARM_AA, ARM_UNKNOWN };
enum applied {
	APPLIED_NONE, APPLIED_T, APPLIED_C, APPLIED_EXPIRED, APPLIED_KILLED, APPLIED_STARVED,
	APPLIED_APP, APPLIED_DENIED, APPLIED_PENDING, APPLIED_FAILED, APPLIED_MPTCP, APPLIED_UNKNOWN,
};

/* mark.flags */
#define MARK_MPTCP    1  /* a subflow */
#define MARK_CROSSED  2  /* the response in progress has reached the threshold */
#define MARK_SWITCHED 4  /* on the treatment, at some time in its life */
#define MARK_PENDING  8  /* treatment decided, waiting for CA_Open */
#define MARK_PRIMED  16  /* last_* are valid */
#define MARK_EVICTED 32  /* moved back to the default since the last switch */
#define MARK_DRAINED 64  /* at the last callback all that had been written was acknowledged */
#define MARK_COUNTING 128 /* the response in progress counts: see count.h */
#define MARK_RETURN  256 /* has to go back to the default, waiting for CA_Open */
/* 512 was: the switch set a pacing cap */
#define MARK_WATCHED 1024 /* called at each write, to see the next response begin */
#define MARK_LOSS    2048 /* in loss recovery at the last callback that counted */
#define MARK_RAN_CAPPED 4096 /* the response that crossed last ran under a pacing cap, ours or its application's in place of ours; also after the way back */
#define MARK_ASKED   8192 /* with control.early: the policy was asked for the response in progress, and holds until_jiffies */
#define MARK_LATE    0x10000 /* from this bit on: late samples of the response that crossed last, which late_rate rests on; at most LATE_STEPS */

/* control.stop: any bit set means no new treatment */
#define STOP_KILLED  1
#define STOP_STARVED 2

/* map control, ARRAY[1], mmapable: the agent stores single words into it */
struct control {
	__u32 stop;        /* STOP_* */
	__u32 active;      /* which of policy_a (0) and policy_b (1) is in force */
	__u64 plan;        /* serial of the plan in force */
	__u64 min_bytes;   /* threshold per response, bytes acknowledged */
	__u64 generation;  /* bumped by each Set */
	__u64 block_ns;    /* length of a block; 0 none */
	__u64 border_ns;   /* where one block ends and the next begins */
	__u64 slept_ns;    /* CLOCK_BOOTTIME less CLOCK_MONOTONIC */
	__u32 early;       /* 1: treat from the first byte on, not from the crossing */
	__u32 washout_ms;  /* start of a block; what crosses in it counts nowhere */
};

/* maps policy_a, policy_b, HASH: u64 prefix (tcp/record/prefix.go) -> policy */
struct policy {
	__u64 switch_ns;   /* from here on arm_next holds */
	__u64 until_ns;    /* end of arm_next's block: beyond it the arm is not known here */
	__u64 expires_ns;  /* no treatment from here on unless renewed */
	__u64 plan;        /* serial */
	__u64 cap_bytes_per_s; /* SO_MAX_PACING_RATE set with the switch; 0 none */
	__u8 arm_now, arm_next; /* what to do */
	__u8 role;         /* ARM_AA: assigned for the record, and the treatment is the default itself */
	__u8 scout;        /* one connection in so many is never capped; 0: all are */
	__u8 pad[4];
	char cong[16];
};

/* map netns, HASH: u64 netns cookie -> netns_state; present = polled */
struct netns_state {
	char default_cong[16];
	__u64 passive;     /* PASSIVE_ESTABLISHED callbacks seen */
};

/*
 * map marks, SK_STORAGE: one for each accepted connection of a polled namespace.
 * What RTT_CB touches comes first and is 56 bytes: the kernel puts 8 bytes of its
 * own before a value, so a callback meets one cache line of it.
 */
struct mark {
	__u64 base_acked;      /* bytes_acked where the response in progress began; once it crossed, where it did */
	__u64 last_received;   /* bytes_received where the response in progress was noticed */
	__u32 last_write_seq;  /* write_seq at the last callback */
	__u32 last_chrono_start; /* start of the busy period then, jiffies */
	__u32 last_delivered, last_interval_us; /* the rate sample already counted */
	__u64 rate_sum;        /* of non-application-limited samples, bytes/s */
	__u32 rate_n, limited_n;
	__u32 before;          /* last path-limited rate of the response in progress before its crossing, bytes/s */
	__u32 flags;           /* MARK_* */

	__u32 until_jiffies;   /* end of the block, while crossed or asked */
	__u32 late_rate;       /* about the median of a response's late samples, bytes/s: see count_late */
	__u16 late_n;          /* late samples of all responses; goes round */
	__u16 episodes;        /* loss recoveries while counting; goes round */
	__u32 crossings;       /* responses that reached the threshold */
	__u32 cap;             /* SO_MAX_PACING_RATE that we set, bytes/s; 0: none */
	__u8 assigned, applied; /* at the last crossing */
	__s16 error;           /* errno of a refused switch, negative */
	__u64 established_ns;
	__u64 crossed_ns;      /* last crossing */
	__u64 switched_ns;     /* 0: never */
	__u64 plan;            /* serial at the last crossing */
	__u64 counted_acked, counted_sent, counted_retrans; /* bytes, see count.h */
	__u64 counted_busy_us;
	char cong[16];         /* of the last switch */
};

/* ring closes: one for each accepted connection of a polled namespace */
struct close_record {
	__u64 cookie, netns, at_ns;
	__u8 local[16], remote[16];  /* IPv4 as ::ffff:a.b.c.d */
	__u16 local_port, remote_port; /* host order */
	__u8 old_state, ca_state, app_limited, retransmits;
	char cong[16];
	struct mark mark;
	__u64 bytes_acked, bytes_received, bytes_sent, bytes_retrans;
	__u64 delivery_rate;         /* the kernel's last sample, bytes/s */
	__u64 busy_us, rwnd_limited_us, sndbuf_limited_us;
	__u32 srtt_us, rttvar_us, min_rtt_us, snd_cwnd, snd_ssthresh, snd_mss;
	__u32 segs_out, segs_in, data_segs_out, data_segs_in, total_retrans, lost;
	__u32 delivered, delivered_ce, dsack_dups, reord_seen;
};

/* map stats, PERCPU_ARRAY[STAT_MAX] of u64 */
enum stat {
	STAT_PASSIVE,       /* accepted connections seen in polled namespaces */
	STAT_UNPOLLED,      /* accepted connections in namespaces nobody polls */
	STAT_NO_STORAGE,    /* no memory for a mark: connection not followed */
	STAT_NO_FLAGS,      /* callbacks could not be armed */
	STAT_RTT,           /* RTT_CB with a mark */
	STAT_CROSSED,
	STAT_SWITCHED,
	STAT_SWITCH_FAILED,
	STAT_CAP_FAILED,    /* a pacing cap could not be set, or not lifted */
	STAT_CLOSED,        /* close records written */
	STAT_RING_FULL,     /* close records lost */
	STAT_NO_TP,         /* tcp_sock could not be read */
	STAT_RETURNED,      /* moved back to the default at a response's or a block's end */
	STAT_RETURN_FAILED,
	STAT_MAX = 16,
};

#endif
