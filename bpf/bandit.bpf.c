// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/*
 * For the lab only, its policy `bpftune`: one congestion control for all clients behind a next hop,
 * learnt in the kernel. bandit_rule_test.go of popday/kernel/popworld has the rule; this was written
 * from the same description. For machines of the lab: it keeps no lock, since they have
 * one CPU, and takes each address family for a next hop, since their edge has one.
 *
 * The policy `bpftune-cap` is the same with congctl's pacing cap on what is on BBR: 1.15 times the 95th percentile of what each client
 * network's connections had on it, which one in ten of them runs without.
 *
 *   PASSIVE_ESTABLISHED        choose an arm
 *   RETRANS_CB                 the loss rule
 *   STATE_CB, the end begins   learn
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "address.h"

#define BPF_SOCK_OPS_RETRANS_CB 9
#define BPF_SOCK_OPS_RETRANS_CB_FLAG (1 << 1)
#define TCP_THIN_LINEAR_TIMEOUTS 16
#define TCP_FIN_WAIT1 4
#define TCP_CLOSE_WAIT 8

#define ARMS 4
#define LOSS_ARM 1        /* BBR */
#define LEARN_AFTER 4     /* connections of a next hop */
#define EXPLORE_ONE_IN 20
#define SCALE 1000000
#define COST_SHIFT 2
#define LOSS_SHIFT 6
#define CAP_PERCENT 115   /* of the 95th percentile, and */
#define CAP_AFTER 20      /* from so many connections of a network on BBR, as in policy/cap.go */
#define SCOUT_ONE_IN 10

/* The edge's network namespace, set by the loader: all else is left alone. */
const volatile __u64 edge_netns = 0;
/* 1 caps what is on BBR. */
const volatile __u32 caps = 0;

struct bandit_arm {
	__u64 chosen, refused; /* choices; those that the kernel did not take */
	__u64 ends;            /* connections learnt from */
	__u64 max_rate;        /* bytes/s */
	__u64 cost;
};

struct next_hop {
	__u64 connections; /* begun */
	__u64 best_rtt;    /* us; 0: none yet */
	__u64 best_rate;   /* bytes/s */
	__u64 by_loss;     /* moved by the loss rule */
	__u64 capped;      /* connections with a cap */
	struct bandit_arm arms[ARMS];
	/* What the last choice and the last lesson were made of, for a test to follow. */
	__u64 last_rtt, last_rate;
	__u32 last_random, last_choice, last_arm, pad;
};

struct flow {
	__u32 arm;   /* that its end counts for */
	__u32 moved; /* by the loss rule */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2);
	__type(key, __u32); /* address family */
	__type(value, struct next_hop);
} next_hops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct flow);
} flows SEC(".maps");

struct network {
	__u64 rate; /* bytes/s, the 95th percentile */
	__u64 ends;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64); /* prefix_key */
	__type(value, struct network);
} networks SEC(".maps");

static __always_inline struct next_hop *hop_of(struct bpf_sock_ops *ops)
{
	__u32 family = ops->family;
	return bpf_map_lookup_elem(&next_hops, &family);
}

static __always_inline int set_arm(struct bpf_sock_ops *ops, __u32 arm)
{
	static const char names[ARMS][16] = {"cubic", "bbr", "htcp", "dctcp"};
	char name[16];
	if (arm >= ARMS)
		return -1;
	__builtin_memcpy(name, names[arm], 16);
	return bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, 16);
}

static __always_inline struct network *network_of(struct bpf_sock_ops *ops, __u64 *key)
{
	__u32 a[4];
	remote_addr(ops, a);
	*key = prefix_key(a);
	return bpf_map_lookup_elem(&networks, key);
}

static __always_inline void cap(struct bpf_sock_ops *ops, struct next_hop *h)
{
	__u64 key;
	if (!caps)
		return;
	struct network *n = network_of(ops, &key);
	if (!n || n->ends < CAP_AFTER || bpf_get_prandom_u32() % SCOUT_ONE_IN == 0)
		return;
	__u64 most = n->rate * CAP_PERCENT / 100;
	__u32 rate = most;
	if (most < ~0U && !bpf_setsockopt(ops, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)))
		h->capped++;
}

/*
 * A percentile that follows the rates: 19 % up for each above it, 1 % down for each below, which is steady where one in twenty is
 * above.
 */
static __always_inline void learn_rate(struct bpf_sock_ops *ops, __u64 rate)
{
	__u64 key;
	struct network *n = network_of(ops, &key);
	if (!n) {
		struct network first = {.rate = rate, .ends = 1};
		bpf_map_update_elem(&networks, &key, &first, BPF_ANY);
		return;
	}
	n->ends++;
	if (rate > n->rate)
		n->rate += n->rate * 19 / 100;
	else
		n->rate -= n->rate / 100;
}

static __always_inline __u32 choose(struct next_hop *h, __u32 random)
{
	if (random % EXPLORE_ONE_IN == 0)
		return random / EXPLORE_ONE_IN % ARMS;
	__u32 best = 0;
	__u64 least = h->arms[0].cost;
#pragma unroll
	for (__u32 i = 1; i < ARMS; i++)
		if (h->arms[i].cost < least) {
			least = h->arms[i].cost;
			best = i;
		}
	return best;
}

static __always_inline void on_established(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	struct next_hop *h = hop_of(ops);
	if (!sk || !h)
		return;
	if (++h->connections > LEARN_AFTER) {
		struct flow *f = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!f)
			return;
		__u32 random = bpf_get_prandom_u32();
		__u32 arm = choose(h, random);
		if (arm >= ARMS)
			return;
		h->last_random = random;
		h->last_choice = arm;
		f->arm = arm;
		h->arms[arm].chosen++;
		if (set_arm(ops, arm))
			h->arms[arm].refused++;
		else if (arm == LOSS_ARM)
			cap(ops, h);
	}
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags |
				  BPF_SOCK_OPS_RETRANS_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG);
}

/* Also for connections that were left alone: the rule looks at nothing but losses. */
static __always_inline void on_retransmit(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	struct next_hop *h = hop_of(ops);
	if (!sk || !h || ops->total_retrans <= ops->segs_out >> LOSS_SHIFT)
		return;
	struct flow *f = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!f || f->moved)
		return;
	f->moved = 1;
	h->by_loss++;
	if (!set_arm(ops, LOSS_ARM) && f->arm != LOSS_ARM) /* one draw a connection: a scout stays one */
		cap(ops, h);
	f->arm = LOSS_ARM;
	int on = 1;
	bpf_setsockopt(ops, SOL_TCP, TCP_THIN_LINEAR_TIMEOUTS, &on, sizeof(on));
}

static __always_inline void learn(struct next_hop *h, __u32 arm, __u64 rtt, __u64 rate)
{
	if (arm >= ARMS || !rtt || !rate)
		return;
	struct bandit_arm *a = &h->arms[arm];
	h->last_arm = arm;
	h->last_rtt = rtt;
	h->last_rate = rate;
	if (!h->best_rtt || rtt < h->best_rtt)
		h->best_rtt = rtt;
	if (rate > a->max_rate)
		a->max_rate = rate;
	if (rate > h->best_rate)
		h->best_rate = rate;
	__s64 cost = (rtt - h->best_rtt) * SCALE / h->best_rtt +
		     (h->best_rate - a->max_rate) * SCALE / h->best_rate;
	a->cost += (cost - (__s64)a->cost) >> COST_SHIFT;
	a->ends++;
}

static __always_inline void on_end(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	struct next_hop *h = hop_of(ops);
	if (!sk || !h)
		return;
	struct flow *f = bpf_sk_storage_get(&flows, sk, 0, 0);
	__u64 interval = ops->rate_interval_us;
	if (!f || !interval)
		return;
	__u64 rate = (__u64)ops->rate_delivered * ops->mss_cache * 1000000 / interval;
	learn(h, f->arm, ops->rtt_min, rate);
	if (caps && f->arm == LOSS_ARM && rate)
		learn_rate(ops, rate);
}

SEC("sockops")
int bandit_sockops(struct bpf_sock_ops *ops)
{
	if (bpf_get_netns_cookie(ops) != edge_netns)
		return 1;
	switch (ops->op) {
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		on_established(ops);
		break;
	case BPF_SOCK_OPS_RETRANS_CB:
		on_retransmit(ops);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		if (ops->args[1] == TCP_FIN_WAIT1 || ops->args[1] == TCP_CLOSE_WAIT)
			on_end(ops);
		break;
	}
	return 1;
}

/* The source is Apache-2.0 OR GPL-2.0; the helpers want it said. */
char LICENSE[] SEC("license") = "GPL";
