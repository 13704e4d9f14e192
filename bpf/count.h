/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * What of a connection counts in the experiment: each response from its crossing of
 * the threshold until the next one begins or the block of the crossing ends,
 * whatever its arm. Treatment and control start and stop at the same events. What crosses
 * in a block's wash-out counts nowhere: the queues may still be those of the other arm.
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

static __always_inline __u64 rate_of(__u32 delivered, __u32 mss, __u32 interval)
{
	if (!interval)
		return 0;
	return (__u64)delivered * mss * 1000000 / interval;
}

/*
 * Late samples: those of a response past slow start and the first loss, whose median is
 * about the path's rate where the mean of all is not. The median is followed in four
 * bytes: toward each sample by half of the way, at most by 1/2n of the estimate,
 *
 *	m += clamp((x - m) / 2, -m / 2n, m / 2n),  n = samples so far, at most LATE_STEPS
 *
 * which is a stochastic approximation (Robbins, Monro 1951) of an estimate between median
 * and mean (Huber 1964). A frugal median with a fixed step (Ma, Muthukrishnan, Sandler
 * 2013) is either still where the first sample was or never calm. Simulated with jitter of
 * 15 % and one sample in ten 1.5 times too high, root mean square errors in per cent:
 *
 *	samples             3     6    12    30   100
 *	this               12     9     7     6     6
 *	frugal 1/16        15    11     9     9     9
 *	last five, 20 B    12    10    10    10    10
 *	true median        12     8     6     4     3
 *
 * A response begins anew with its first late sample: until then the one before holds. What an
 * application paces itself has none: they would be that limit.
 */
#define LATE_STEPS 16

static __always_inline void count_late(struct mark *m, __u32 rate)
{
	__u32 n = m->flags / MARK_LATE, late = m->late_rate;

	m->late_n++;
	if (n < LATE_STEPS) {
		m->flags += MARK_LATE;
		n++;
	}
	if (n == 1) {
		m->late_rate = rate;
		return;
	}
	__u32 most = late / (2 * n);
	__u32 way = (rate > late ? rate - late : late - rate) / 2;
	if (way > most)
		way = most;
	m->late_rate = rate > late ? late + way : late - way;
}

/*
 * The last sample before the crossing, which no treatment but an early one has touched, counts with those
 * after it: a response of little more than the threshold has all been sent by then, and
 * what remains is limited by the application. Of a large one it is one in many.
 *
 * tcp_rate_gen keeps an old sample in place of a lower application-limited one, so the same
 * pair (delivered, interval) seen again is the same sample.
 */
static __always_inline void count_rate(const struct bpf_sock_ops *ops, const struct tcp_sock *tp, struct mark *m, __u64 acked)
{
	__u32 delivered = ops->rate_delivered, interval = ops->rate_interval_us;
	if (!interval || (delivered == m->last_delivered && interval == m->last_interval_us))
		return;
	m->last_delivered = delivered;
	m->last_interval_us = interval;
	int counting = m->flags & MARK_COUNTING;
	if (BPF_CORE_READ_BITFIELD(tp, rate_app_limited)) {
		if (counting)
			m->limited_n++;
		return;
	}
	__u64 rate = rate_of(delivered, ops->mss_cache, interval);
	__u32 low = rate > ~0U ? ~0U : rate;
	if (!counting) {
		m->before = low;
		return;
	}
	m->rate_sum += rate;
	m->rate_n++;
	if (acked - m->base_acked >= late_bytes && !paces_itself(tp, m))
		count_late(m, low);
}

/* A recovery lasts at least a round trip, and callbacks come once a round trip. */
static __always_inline void count_episodes(struct tcp_sock *tp, struct mark *m)
{
	__u32 loss = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) >= TCP_CA_RECOVERY ? MARK_LOSS : 0;
	if (loss == (m->flags & MARK_LOSS))
		return;
	m->flags ^= MARK_LOSS;
	if (loss)
		m->episodes++;
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
	/* A recovery that has begun counts, as what it resends from here on does; not one that this acknowledgement ends. */
	if ((__s32)(tp->snd_una - tp->high_seq) < 0)
		count_episodes(tp, m);
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

/* What is left of the block of now, ns; 0: there are no blocks. */
static __always_inline __u64 block_left(const struct control *c, __u64 now)
{
	if (!c->block_ns)
		return 0;
	__u64 left;
	if (now < c->border_ns)
		left = (c->border_ns - now) % c->block_ns;
	else
		left = c->block_ns - (now - c->border_ns) % c->block_ns;
	return left ? left : c->block_ns;
}

/* Is so much left of a block that its wash-out goes on? */
static __always_inline int in_washout(const struct control *c, __u64 left)
{
	return left && c->block_ns < left + c->washout_ms * 1000000ULL;
}

/*
 * The jiffy in which a block has ended of which so much is left. Jiffies, since each callback compares
 * them and reading a clock costs more than all else there. border() reads the clock
 * once more, so a jiffy too early does no harm. Their low word goes round, and half of it
 * is 24 days at least: that is how long a block is where there is none.
 */
static __always_inline __u32 block_end(__u64 left)
{
	if (!left)
		return (__u32)bpf_jiffies64() + (~0U >> 1);
	return bpf_jiffies64() + left / 1000 / jiffy_us + 1;
}

static __always_inline int block_over(const struct mark *m)
{
	return (__s32)((__u32)bpf_jiffies64() - m->until_jiffies) >= 0;
}

#endif
