/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * What of a connection counts in the experiment: each response from its crossing of
 * the threshold until the next one begins or the block of the crossing ends,
 * whatever its arm. Treatment and control start and stop at the same events.
 *
 * A counted_* word of the mark is what was counted so far. While counting it is the
 * kernel's counter less that, so that a callback has nothing to add up and a poll
 * between two callbacks misses nothing:
 *
 *	counted = MARK_COUNTING ? counter - word : word
 *
 * Starting and stopping are then the same step: word = counter - word.
 */
#ifndef CONGCTL_COUNT_H
#define CONGCTL_COUNT_H

enum { CHRONO_BUSY = 1, CHRONO_RWND, CHRONO_SNDBUF }; /* enum tcp_chrono; chrono_stat[type - 1] */

/* Time with unacknowledged data, whatever held the sender back. */
static __always_inline __u64 busy_us(struct tcp_sock *tp)
{
	__u32 busy = tp->chrono_stat[0] + tp->chrono_stat[1] + tp->chrono_stat[2];
	if (BPF_CORE_READ_BITFIELD(tp, chrono_type))
		busy += (__u32)bpf_jiffies64() - tp->chrono_start;
	return (__u64)busy * jiffy_us;
}

static __always_inline __u64 rate_of(struct tcp_sock *tp, __u32 delivered, __u32 interval)
{
	if (!interval)
		return 0;
	return (__u64)delivered * tp->mss_cache * 1000000 / interval;
}

/*
 * Is the kernel's delivery-rate sample a new one? tcp_rate_gen keeps an old sample in
 * place of a lower application-limited one, so the same pair (delivered, interval)
 * seen again is the same sample.
 */
static __always_inline int new_rate(struct tcp_sock *tp, struct mark *m)
{
	__u32 delivered = tp->rate_delivered, interval = tp->rate_interval_us;
	if (!interval || (delivered == m->last_delivered && interval == m->last_interval_us))
		return 0;
	m->last_delivered = delivered;
	m->last_interval_us = interval;
	return 1;
}

/*
 * The last sample before the crossing, which no treatment has touched, counts with those
 * after it: a response of little more than the threshold has all been sent by then, and
 * what remains is limited by the application. Of a large one it is one in many.
 */
static __always_inline void count_rate(struct tcp_sock *tp, struct mark *m)
{
	if (!new_rate(tp, m))
		return;
	int limited = BPF_CORE_READ_BITFIELD(tp, rate_app_limited);
	__u64 rate = rate_of(tp, m->last_delivered, m->last_interval_us);
	if (!(m->flags & MARK_COUNTING)) {
		if (!limited)
			m->before = rate > ~0U ? ~0U : rate;
	} else if (limited) {
		m->limited_n++;
	} else {
		m->rate_sum += rate;
		m->rate_n++;
	}
}

static __always_inline void turn_counting(struct tcp_sock *tp, struct mark *m)
{
	m->flags ^= MARK_COUNTING;
	m->counted_acked = tp->bytes_acked - m->counted_acked;
	m->counted_sent = tp->bytes_sent - m->counted_sent;
	m->counted_retrans = tp->bytes_retrans - m->counted_retrans;
	m->counted_busy_us = busy_us(tp) - m->counted_busy_us;
}

static __always_inline void start_counting(struct tcp_sock *tp, struct mark *m)
{
	if (!(m->flags & MARK_COUNTING))
		turn_counting(tp, m);
	if (m->before) {
		m->rate_sum += m->before;
		m->rate_n++;
	}
}

static __always_inline void stop_counting(struct tcp_sock *tp, struct mark *m)
{
	if (m->flags & MARK_COUNTING)
		turn_counting(tp, m);
}

/*
 * The jiffy in which the block of now has ended. Jiffies, since each callback compares
 * them and reading a clock costs more than all else there. border() reads the clock
 * once more, so a jiffy too early does no harm.
 */
static __always_inline __u64 block_end(const struct control *c, __u64 now)
{
	if (!c->block_ns)
		return ~0ULL;
	__u64 left;
	if (now < c->border_ns)
		left = (c->border_ns - now) % c->block_ns;
	else
		left = c->block_ns - (now - c->border_ns) % c->block_ns;
	if (!left)
		left = c->block_ns;
	return bpf_jiffies64() + left / 1000 / jiffy_us + 1;
}

#endif
