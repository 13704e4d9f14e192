// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/*
 * One sock_ops program on a cgroup. It looks up, sets and counts; every choice
 * (which prefix, which arm, when) was made in Go and lies in a map.
 *
 *   PASSIVE_ESTABLISHED  give the connection a mark, arm RTT_CB and STATE_CB; with control.early act
 *   RTT_CB, once an RTT  see where a response begins, and when it reaches min_bytes
 *                        look the prefix up, act, and count from there on
 *   HDR_OPT_LEN          a write, after a response that crossed: the next one begins
 *   STATE_CB, CLOSE      write one record
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_core_read.h>
#include "congctl.h"
#include "maps.h"
#include "address.h"
#include "cap.h"
#include "count.h"
#include "response.h"
#include "treat.h"
#include "close.h"

_Static_assert(sizeof(struct control) == 64, "control");
_Static_assert(sizeof(struct policy) == 64, "policy");
_Static_assert(sizeof(struct netns_state) == 24, "netns_state");
_Static_assert(sizeof(struct mark) == 160, "mark");
_Static_assert(__builtin_offsetof(struct mark, until_jiffies) == 56, "mark: the part of RTT_CB");
_Static_assert(sizeof(struct close_record) == 368, "close_record");

static __always_inline struct policy *policy_under(const struct control *c, __u64 key)
{
	if (c->active)
		return bpf_map_lookup_elem(&policy_b, &key);
	return bpf_map_lookup_elem(&policy_a, &key);
}

static __always_inline int denied(const __u32 a[4])
{
	struct lpm_key k = { .bits = 128 };
	__u32 *w = (__u32 *)k.addr;
	w[0] = a[0], w[1] = a[1], w[2] = a[2], w[3] = a[3];
	return bpf_map_lookup_elem(&deny, &k) != 0;
}

/* The network's own policy; without one, that of all where the plan has it, but for addresses that may not be treated. One function
 * for its five callers. */
static __noinline struct policy *policy_of(const struct control *c, const __u32 addr[4])
{
	struct policy *p = policy_under(c, prefix_key(addr));
	if (p)
		return p;
	p = policy_under(c, ALL_NETWORKS);
	return p && !denied(addr) ? p : 0;
}

/* Why a response that the plan would treat must be left alone now; 0 if not. */
static __always_inline __u8 refusal(const struct control *c, const struct policy *p, __u64 now)
{
	if (c->stop & STOP_KILLED)
		return APPLIED_KILLED;
	if (now >= p->expires_ns)
		return APPLIED_EXPIRED;
	if (c->stop & STOP_STARVED)
		return APPLIED_STARVED;
	return 0;
}

/* Switches now, or notes that it has to wait: a switch in loss recovery would
 * throw the recovery's state away. */
static __always_inline __u8 try_switch(struct bpf_sock_ops *ops, struct tcp_sock *tp, struct mark *m,
				       const struct netns_state *ns, const struct policy *p, __u64 now)
{
	if (BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) != TCP_CA_OPEN) {
		m->flags |= MARK_PENDING;
		return APPLIED_PENDING;
	}
	return do_switch(ops, tp, m, ns, p, now);
}

/* The arm in force for this prefix at now; beyond until_ns it is not known here. */
static __always_inline __u8 arm_at(const struct policy *p, __u64 now)
{
	if (now >= p->until_ns)
		return ARM_UNKNOWN;
	return now < p->switch_ns ? p->arm_now : p->arm_next;
}

/*
 * The treatment, or why not: what is treated and may not be goes back. One function for its
 * callers, which looks the policy up once more: it is large.
 */
static __noinline __u8 treat(struct bpf_sock_ops *ops, struct tcp_sock *tp, struct mark *m,
			     struct netns_state *ns, const struct control *c)
{
	__u32 addr[4];
	remote_addr(ops, addr);
	__u64 now = bpf_ktime_get_boot_ns();
	struct policy *p = policy_of(c, addr);
	if (!p)
		return APPLIED_NONE;
	__u8 why = refusal(c, p, now);
	if (!why && m->flags & MARK_MPTCP)
		why = APPLIED_MPTCP;
	if (!why && denied(addr))
		why = APPLIED_DENIED;
	if (why) {
		if (treated(m))
			m->flags |= MARK_RETURN;
		return why;
	}
	char name[16], want[16];
	cong_name(tp, name);
	treatment(want, ns, p);
	if (treated(m) && same_name(name, m->cong)) {
		m->flags &= ~MARK_RETURN; /* the way back from the response before still waits */
		if (!same_name(name, want)) /* of the plan before */
			return try_switch(ops, tp, m, ns, p, now);
		set_cap(ops, tp, m, p);
		return APPLIED_T;
	}
	if (treated(m)) { /* its application has chosen since */
		m->flags = (m->flags & ~MARK_RETURN) | MARK_EVICTED;
		if (lift_cap(ops, tp, m))
			count(STAT_CAP_FAILED);
	}
	if (!same_name(name, ns->default_cong))
		return APPLIED_APP;
	return try_switch(ops, tp, m, ns, p, now);
}

/* The response in progress has just reached min_bytes. Both arms come here. */
static __always_inline void crossed(struct bpf_sock_ops *ops, struct tcp_sock *tp, struct mark *m,
				    struct netns_state *ns, const struct control *c)
{
	__u32 addr[4];
	remote_addr(ops, addr);
	__u64 now = bpf_ktime_get_boot_ns();

	__u64 left = block_left(c, now);
	m->flags = (m->flags & (MARK_LATE - 1) & ~(MARK_PENDING | MARK_LOSS | MARK_RAN_CAPPED)) | MARK_CROSSED;
	m->crossings++;
	m->crossed_ns = now;
	m->until_jiffies = block_end(left);
	m->base_acked = tp->bytes_acked;
	m->plan = c->plan;
	m->assigned = ARM_NONE;
	m->applied = APPLIED_NONE;
	if (!in_washout(c, left))
		start_counting(tp, m);
	count(STAT_CROSSED);

	struct policy *p = policy_of(c, addr);
	__u8 arm = p ? arm_at(p, now) : ARM_NONE;
	if (treated(m) && arm != ARM_T && arm != ARM_UNKNOWN) /* from its first byte on, in a block that is over */
		m->flags |= MARK_RETURN;
	if (!p)
		return;
	m->plan = p->plan;
	m->assigned = p->role == ARM_AA && arm != ARM_UNKNOWN ? ARM_AA : arm;
	if (arm == ARM_T)
		m->applied = treat(ops, tp, m, ns, c);
	else if (arm == ARM_UNKNOWN)
		m->applied = APPLIED_EXPIRED;
	else if (arm == ARM_C)
		m->applied = APPLIED_C;
}

/*
 * The block in which the response crossed is over: from here on it counts nowhere. What
 * is treated leaves a block of another arm; what the plan no longer has, or a stalled
 * agent no longer knows, goes back when the response is over.
 */
static __always_inline void border(struct bpf_sock_ops *ops, struct tcp_sock *tp, struct mark *m, const struct control *c)
{
	__u64 now = bpf_ktime_get_boot_ns();
	stop_counting(tp, m);
	m->flags &= ~MARK_PENDING;
	m->until_jiffies = block_end(block_left(c, now));
	if (!treated(m))
		return;
	__u32 addr[4];
	remote_addr(ops, addr);
	struct policy *p = policy_of(c, addr);
	if (!p)
		return;
	__u8 arm = arm_at(p, now);
	if (arm != ARM_T && arm != ARM_UNKNOWN)
		m->flags |= MARK_RETURN;
}

static __always_inline void response_over(struct tcp_sock *tp, struct mark *m)
{
	stop_counting(tp, m);
	if (treated(m))
		m->flags |= MARK_RETURN;
}

/* A decided switch that waited for CA_Open: everything may have changed since, the
 * application's choice and the deny list too, so all is asked again. */
static __always_inline void retry(struct bpf_sock_ops *ops, struct tcp_sock *tp, struct mark *m,
				  struct netns_state *ns, const struct control *c)
{
	__u32 addr[4];
	remote_addr(ops, addr);
	__u64 now = bpf_ktime_get_boot_ns();
	m->flags &= ~MARK_PENDING;
	struct policy *p = policy_of(c, addr);
	if (!p || arm_at(p, now) != ARM_T)
		return;
	__u32 capped = m->flags & MARK_RAN_CAPPED;
	__u8 applied = treat(ops, tp, m, ns, c);
	if (m->flags & MARK_CROSSED)
		m->applied = applied;
	else
		m->flags = (m->flags & ~MARK_RAN_CAPPED) | capped;
}

/*
 * With control.early: what the plan treats is treated before its first loss. Asked at the
 * start of each response and of each block; what is treated and may not be goes back. What
 * the mark has of the last crossing stays. One function for its three callers: it is large.
 */
static __noinline void begin(struct bpf_sock_ops *ops, struct tcp_sock *tp, struct mark *m,
			     struct netns_state *ns, const struct control *c)
{
	__u32 addr[4];
	remote_addr(ops, addr);
	__u64 now = bpf_ktime_get_boot_ns();
	m->flags |= MARK_ASKED;
	m->until_jiffies = block_end(block_left(c, now));
	struct policy *p = policy_of(c, addr);
	__u32 capped = m->flags & MARK_RAN_CAPPED;
	if (p && arm_at(p, now) == ARM_T)
		treat(ops, tp, m, ns, c);
	else if (treated(m))
		m->flags |= MARK_RETURN;
	m->flags = (m->flags & ~MARK_RAN_CAPPED) | capped;
}

/* Crosses, begins, or tries again what waits. */
static __always_inline void act(struct bpf_sock_ops *ops, struct tcp_sock *tp, struct mark *m, const struct control *c,
				const struct seen *s)
{
	int pending = m->flags & MARK_PENDING;
	int crosses = !(m->flags & MARK_CROSSED) && response_bytes(m, s) >= c->min_bytes;
	int begins = c->early && !(m->flags & MARK_CROSSED) && (!(m->flags & MARK_ASKED) || block_over(m));
	if (!pending && !crosses && !begins)
		return;
	__u64 cookie = bpf_get_netns_cookie(ops);
	struct netns_state *ns = bpf_map_lookup_elem(&netns, &cookie);
	if (!ns)
		return;
	if (crosses)
		crossed(ops, tp, m, ns, c);
	else if (pending)
		retry(ops, tp, m, ns, c);
	else
		begin(ops, tp, m, ns, c);
}

static __always_inline void on_rtt(struct bpf_sock_ops *ops)
{
	struct mark *m;
	struct tcp_sock *tp = followed(ops, &m);
	if (!tp)
		return;
	count(STAT_RTT);
	__u32 zero = 0;
	struct control *c = bpf_map_lookup_elem(&control, &zero);
	if (!c)
		return;
	if (m->flags & MARK_CROSSED && block_over(m))
		border(ops, tp, m, c);
	struct seen s;
	look(ops, tp, &s);
	count_rate(ops, tp, m, s.acked);
	if (m->flags & MARK_COUNTING)
		count_episodes(tp, m);
	if (find_response(m, &s))
		response_over(tp, m);
	act(ops, tp, m, c, &s);
	if (m->flags & MARK_RETURN)
		go_back(ops, tp, m);
	if (m->flags & (MARK_CROSSED | MARK_WATCHED) || treated_early(m))
		watch(ops, m, s.nxt == s.end);
}

/* A write, told before the kernel takes its data. */
static __always_inline void on_write(struct bpf_sock_ops *ops)
{
	struct mark *m;
	struct tcp_sock *tp = followed(ops, &m);
	if (!tp || !write_begins(tp, m))
		return;
	response_over(tp, m);
	__u32 zero = 0;
	struct control *c = bpf_map_lookup_elem(&control, &zero);
	if (c && c->early) {
		__u64 cookie = bpf_get_netns_cookie(ops);
		struct netns_state *ns = bpf_map_lookup_elem(&netns, &cookie);
		if (ns)
			begin(ops, tp, m, ns, c);
	}
	if (m->flags & MARK_RETURN)
		go_back(ops, tp, m);
	watch(ops, m, tp->snd_nxt == tp->write_seq);
}

/*
 * When the packet came that is being handled. The kernel has read a clock for it, and reading
 * one more took a fifteenth of what opening a connection costs. With TCP Fast Open the
 * connection begins before it does: 0.
 */
static __always_inline __u64 packet_ns(const struct tcp_sock *tp)
{
	__u32 zero = 0;
	struct control *c = bpf_map_lookup_elem(&control, &zero);
	if (!c || !tp->tcp_mstamp)
		return bpf_ktime_get_boot_ns();
	return tp->tcp_mstamp * 1000 + c->slept_ns;
}

static __always_inline void on_established(struct bpf_sock_ops *ops)
{
	__u64 cookie = bpf_get_netns_cookie(ops);
	struct netns_state *ns = bpf_map_lookup_elem(&netns, &cookie);
	if (!ns) {
		count(STAT_UNPOLLED);
		return;
	}
	__sync_fetch_and_add(&ns->passive, 1); /* all ports: coverage is held against TcpPassiveOpens */
	__u16 port = ops->local_port;
	if (filter_ports && !bpf_map_lookup_elem(&ports, &port))
		return;
	count(STAT_PASSIVE);
	struct bpf_sock *sk = ops->sk;
	if (!sk)
		return;
	struct mark *m = bpf_sk_storage_get(&marks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!m) {
		count(STAT_NO_STORAGE);
		return;
	}
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	if (!tp) {
		count(STAT_NO_TP);
		return;
	}
	m->established_ns = packet_ns(tp);
	if (bpf_core_field_exists(tp->is_mptcp) && tp->is_mptcp)
		m->flags |= MARK_MPTCP;
	/* The call replaces the flags: keep what others have set. */
	if (bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags |
				      BPF_SOCK_OPS_RTT_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG)) {
		count(STAT_NO_FLAGS);
		return; /* what is treated must be seen */
	}
	__u32 zero = 0;
	struct control *c = bpf_map_lookup_elem(&control, &zero);
	if (c && c->early)
		begin(ops, tp, m, ns, c);
}

SEC("sockops")
int congctl_sockops(struct bpf_sock_ops *ops)
{
	switch (ops->op) {
	case BPF_SOCK_OPS_RTT_CB:
		on_rtt(ops);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		if (ops->args[0] == BPF_WRITE_HDR_TCP_CURRENT_MSS)
			on_write(ops);
		break;
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		on_established(ops);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		/* tcp_done and tcp_reset may set CLOSE on a closed socket again. */
		if (ops->args[1] == TCP_CLOSE && ops->args[0] != TCP_CLOSE)
			on_close(ops);
		break;
	}
	return 1;
}

/* Reading kernel structs needs it; the source is Apache-2.0 OR GPL-2.0. */
char LICENSE[] SEC("license") = "GPL";
