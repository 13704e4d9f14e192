/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * The pacing cap (SO_MAX_PACING_RATE) is a limit that an application may set too, before
 * the switch or after it. Whose it is tells the mark, which has the cap that we set: any
 * other limit is the application's own, and stays.
 */
#ifndef CONGCTL_CAP_H
#define CONGCTL_CAP_H

static __always_inline int cap_is_ours(const struct tcp_sock *tp, const struct mark *m)
{
	return m->cap && tp->inet_conn.icsk_inet.sk.sk_max_pacing_rate == m->cap;
}

/* ~0: no limit; the low word tells on 32 bits too. */
static __always_inline int paces_itself(const struct tcp_sock *tp, const struct mark *m)
{
	return (__u32)tp->inet_conn.icsk_inet.sk.sk_max_pacing_rate != ~0U && !cap_is_ours(tp, m);
}

/* sk is what the kind of program hands to bpf_setsockopt. Where the kernel refuses, the mark still has the cap. */
static __always_inline int lift_cap(void *sk, const struct tcp_sock *tp, struct mark *m)
{
	__u32 none = ~0U;
	if (cap_is_ours(tp, m)) {
		int err = bpf_setsockopt(sk, SOL_SOCKET, SO_MAX_PACING_RATE, &none, sizeof(none));
		if (err)
			return err;
	}
	m->cap = 0;
	return 0;
}

#endif
