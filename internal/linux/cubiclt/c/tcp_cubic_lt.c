// SPDX-License-Identifier: GPL-2.0-only
/*
 * cubic_lt in the kernel itself, for the lab: User Mode Linux has no struct_ops. The algorithm is
 * cubic_lt.h, the same file that the struct_ops program compiles.
 */
#include <linux/module.h>
#include <net/tcp.h>

static const struct tcp_congestion_ops *cubic __read_mostly;

#define stock_init(sk)			 cubic->init(sk)
#define stock_ssthresh(sk)		 cubic->ssthresh(sk)
#define stock_cong_avoid(sk, ack, acked) cubic->cong_avoid(sk, ack, acked)
#define stock_set_state(sk, state)	 cubic->set_state(sk, state)
#define stock_acked(sk, sample)		 cubic->pkts_acked(sk, sample)
#define lt_ca_state(sk)			 inet_csk(sk)->icsk_ca_state
#define lt_jiffies()			 tcp_jiffies32

#include "cubic_lt.h"

static void cubic_lt_init(struct sock *sk)
{
	lt_init(sk, inet_csk_ca(sk));
}

static void cubic_lt_acked(struct sock *sk, const struct ack_sample *sample)
{
	lt_acked(sk, inet_csk_ca(sk), sample);
}

static void cubic_lt_in_ack_event(struct sock *sk, u32 flags)
{
	((struct lt *)inet_csk_ca(sk))->ce = !!(flags & LT_ACK_ECE);
}

static u32 cubic_lt_ssthresh(struct sock *sk)
{
	return lt_ssthresh(sk, inet_csk_ca(sk));
}

static void cubic_lt_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	lt_cong_control(sk, inet_csk_ca(sk), rs->acked_sacked, rs->losses);
}

static void cubic_lt_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	cubic->cwnd_event(sk, event);
	if (event == CA_EVENT_TX_START)
		lt_restart(sk, inet_csk_ca(sk));
}

static void cubic_lt_set_state(struct sock *sk, u8 state)
{
	lt_set_state(sk, inet_csk_ca(sk), state);
}

static u32 cubic_lt_undo_cwnd(struct sock *sk)
{
	return cubic->undo_cwnd(sk);
}

static struct tcp_congestion_ops cubic_lt __read_mostly = {
	.init		= cubic_lt_init,
	.ssthresh	= cubic_lt_ssthresh,
	.cong_control	= cubic_lt_cong_control,
	.set_state	= cubic_lt_set_state,
	.undo_cwnd	= cubic_lt_undo_cwnd,
	.cwnd_event	= cubic_lt_cwnd_event,
	.in_ack_event	= cubic_lt_in_ack_event,
	.pkts_acked	= cubic_lt_acked,
	.owner		= THIS_MODULE,
	.name		= "cubic_lt",
};

static int __init cubic_lt_register(void)
{
	BUILD_BUG_ON(sizeof(struct lt) > ICSK_CA_PRIV_SIZE);
	rcu_read_lock();
	cubic = tcp_ca_find("cubic");
	rcu_read_unlock();
	return cubic ? tcp_register_congestion_control(&cubic_lt) : -ENOENT;
}
late_initcall(cubic_lt_register); /* after CUBIC's own */
