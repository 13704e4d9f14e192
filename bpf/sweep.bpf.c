// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/*
 * One walk over the TCP sockets of the namespace that opened the iterator. It
 * does what sock_ops cannot: see whether another sock_ops program has replaced
 * the callback flags of a connection we follow (bpf_sock_ops_cb_flags_set
 * overwrites, it does not add), give them back where the kernel allows that from
 * an iterator (6.12), and move treated connections back to the default (5.15).
 * The iterator holds the socket's lock, so nothing here races with sock_ops.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "congctl.h"
#include "cap.h"

/* map sweep, ARRAY[1] */
struct sweep {
	__u64 seen, marked, stripped, rearmed, rearm_failed, evicted, evict_failed;
	__u32 rearm, evict; /* what to do, set by the agent before each walk */
	char default_cong[16];
};
_Static_assert(sizeof(struct sweep) == 80, "sweep");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct mark);
} marks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sweep);
} sweep SEC(".maps");

#define OURS (BPF_SOCK_OPS_RTT_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG)

static __always_inline void give_back(struct tcp_sock *tp, struct sweep *s)
{
	__u32 flags = tp->bpf_sock_ops_cb_flags;
	if ((flags & OURS) == OURS)
		return;
	s->stripped++;
	if (!s->rearm)
		return;
	flags |= OURS;
	if (bpf_setsockopt(tp, SOL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &flags, sizeof(flags)))
		s->rearm_failed++;
	else
		s->rearmed++;
}

static __always_inline void move_back(struct tcp_sock *tp, struct mark *m, struct sweep *s)
{
	if (!(m->flags & MARK_SWITCHED) || m->flags & MARK_EVICTED)
		return;
	char name[16];
	__builtin_memcpy(name, s->default_cong, 16);
	if (lift_cap(tp, tp, m) || bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, name, 16)) {
		s->evict_failed++;
		return;
	}
	m->flags |= MARK_EVICTED;
	m->flags &= ~MARK_RETURN;
	s->evicted++;
}

SEC("iter/tcp")
int congctl_sweep(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	if (!skc)
		return 0;
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	__u32 zero = 0;
	struct sweep *s = bpf_map_lookup_elem(&sweep, &zero);
	if (!s)
		return 0;
	s->seen++;
	struct mark *m = bpf_sk_storage_get(&marks, tp, 0, 0);
	if (!m)
		return 0;
	s->marked++;
	give_back(tp, s);
	if (s->evict)
		move_back(tp, m, s);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
