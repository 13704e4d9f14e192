/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * To the treatment and back. A response is treated from its crossing on and goes
 * back to the default when it is over, so that the next one begins untreated
 * whatever came before it. With control.early each is treated from its first byte
 * on, crossing or not: what the next one is on is then its own block's choice.
 *
 * The treatment of an A/A prefix is the default itself, by the same calls. The
 * kernel does nothing for a name that a socket already has
 * (tcp_set_congestion_control), so what is left for A/A to show is all but that.
 */
#ifndef CONGCTL_TREAT_H
#define CONGCTL_TREAT_H

static __always_inline int same_name(const char a[16], const char b[16])
{
	const __u64 *x = (const __u64 *)a, *y = (const __u64 *)b;
	return x[0] == y[0] && x[1] == y[1];
}

/* Two loads, and no helper: the one that reads strings is of kernels with tracing only. */
static __always_inline void cong_name(struct tcp_sock *tp, char name[16])
{
	const __u64 *from = (const __u64 *)tp->inet_conn.icsk_ca_ops->name;
	__u64 *w = (__u64 *)name;
	w[0] = from[0];
	w[1] = from[1];
}

static __always_inline int treated(const struct mark *m)
{
	return (m->flags & (MARK_SWITCHED | MARK_EVICTED)) == MARK_SWITCHED;
}

/*
 * A scout shows what the path gives without the cap. Cookies are handed out in a row, so they
 * are mixed first (Fibonacci hashing: Knuth, The Art of Computer Programming 3, 6.4).
 */
static __always_inline int scout(struct bpf_sock_ops *ops, const struct policy *p)
{
	__u32 one_in = p->scout;
	return one_in && (__u32)(bpf_get_socket_cookie(ops) * 0x9e3779b97f4a7c15ULL >> 32) % one_in == 0;
}

/*
 * The policy's cap, or none, in place of what an earlier response may have left. A connection
 * that paces itself keeps its own limit and counts as capped unless it is a scout: the draw
 * alone says who is on which side, so that both hold their share of those.
 */
static __always_inline void set_cap(struct bpf_sock_ops *ops, const struct tcp_sock *tp, struct mark *m, const struct policy *p)
{
	if (lift_cap(ops, tp, m)) {
		m->flags |= MARK_RAN_CAPPED;
		count(STAT_CAP_FAILED);
		return;
	}
	if (!p->cap_bytes_per_s || scout(ops, p))
		return;
	__u32 cap = p->cap_bytes_per_s > 0xfffffffe ? 0xfffffffe : p->cap_bytes_per_s;
	if (!paces_itself(tp, m)) {
		if (bpf_setsockopt(ops, SOL_SOCKET, SO_MAX_PACING_RATE, &cap, sizeof(cap))) {
			count(STAT_CAP_FAILED);
			return;
		}
		m->cap = cap;
	}
	m->flags |= MARK_RAN_CAPPED;
}

/* What a policy treats with. */
static __always_inline void treatment(char name[16], const struct netns_state *ns, const struct policy *p)
{
	__builtin_memcpy(name, p->role == ARM_AA ? ns->default_cong : p->cong, 16);
}

static __always_inline __u8 do_switch(struct bpf_sock_ops *ops, const struct tcp_sock *tp, struct mark *m,
				      const struct netns_state *ns, const struct policy *p, __u64 now)
{
	char name[16];
	treatment(name, ns, p);
	int err = bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, 16);
	if (err) {
		m->error = err;
		count(STAT_SWITCH_FAILED);
		return APPLIED_FAILED;
	}
	m->flags |= MARK_SWITCHED;
	m->flags &= ~MARK_EVICTED;
	m->switched_ns = now;
	__builtin_memcpy(m->cong, name, 16);
	count(STAT_SWITCHED);
	set_cap(ops, tp, m, p);
	return APPLIED_T;
}

/*
 * Back to the default, now or in the first callback in which nothing is lost: like the
 * way in, it must not throw a recovery's state away. With nothing in flight there is
 * none. What the application has chosen since stays.
 */
static __always_inline void go_back(struct bpf_sock_ops *ops, struct tcp_sock *tp, struct mark *m)
{
	if (tp->snd_una != tp->write_seq && BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) != TCP_CA_OPEN)
		return;
	__u64 cookie = bpf_get_netns_cookie(ops);
	struct netns_state *ns = bpf_map_lookup_elem(&netns, &cookie);
	if (!ns)
		return;
	m->flags &= ~MARK_RETURN;
	char name[16];
	cong_name(tp, name);
	if (same_name(name, m->cong)) {
		__builtin_memcpy(name, ns->default_cong, 16);
		if (bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, 16)) {
			count(STAT_RETURN_FAILED);
			return;
		}
		count(STAT_RETURNED);
	}
	m->flags |= MARK_EVICTED;
	if (lift_cap(ops, tp, m))
		count(STAT_CAP_FAILED);
}

#endif
