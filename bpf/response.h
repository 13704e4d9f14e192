/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * Where does a response begin? No request is parsed. A new response begins when
 * the client has sent something (bytes_received grew) and, since the last
 * callback, all data sent had been acknowledged. The second half keeps an HTTP/2
 * download one response although its client sends WINDOW_UPDATEs all the time.
 * "All acknowledged since" is told from two facts: all that was written by the
 * last callback is acknowledged now, and the busy period (tcp_chrono) that runs
 * now began later. See idle_since().
 *
 * The byte base is taken where the new response is noticed, so up to one
 * acknowledgement of it is not counted: the error is on the side of leaving a
 * response alone.
 */
#ifndef CONGCTL_RESPONSE_H
#define CONGCTL_RESPONSE_H

enum { CHRONO_BUSY = 1, CHRONO_RWND, CHRONO_SNDBUF }; /* enum tcp_chrono; chrono_stat[type - 1] */

static __always_inline __u64 rate_of(struct tcp_sock *tp, __u32 delivered, __u32 interval)
{
	if (!interval)
		return 0;
	return (__u64)delivered * tp->mss_cache * 1000000 / interval;
}

/*
 * Counts the kernel's delivery-rate sample if it is a new one. tcp_rate_gen keeps
 * an old sample in place of a lower application-limited one, so the same pair
 * (delivered, interval) seen again is the same sample.
 */
static __always_inline void count_rate(struct tcp_sock *tp, struct mark *m)
{
	__u32 delivered = tp->rate_delivered, interval = tp->rate_interval_us;
	if (!interval || (delivered == m->last_delivered && interval == m->last_interval_us))
		return;
	m->last_delivered = delivered;
	m->last_interval_us = interval;
	if (BPF_CORE_READ_BITFIELD(tp, rate_app_limited)) {
		m->limited_n++;
		return;
	}
	m->rate_sum += rate_of(tp, delivered, interval);
	m->rate_n++;
}

/*
 * Had all data sent been acknowledged at some time since the last callback?
 *
 * Needed: all that had been written by then is acknowledged now; and the busy
 * period of now began later than the one of then (tcp_chrono_start stamps it when
 * data is queued on an empty socket). A download whose sender keeps data waiting
 * fails the first test whatever its client sends.
 *
 * The stamp also moves when a period turns send-buffer-limited and back, which
 * passes the first test: the queue is empty then, and refilled just in time. Such a
 * sender is not limited by the path, so taking it for a new response and leaving
 * it alone is the right error.
 *
 * The best proof is to have seen it: a callback for the very acknowledgement that
 * empties the queue. It is also needed, since the next period may begin in the
 * same jiffy and then bear the same stamp.
 *
 * The stamps are jiffies: a period that began in this jiffy or the last is too
 * young to tell from the one before it, and is taken as new. That costs a long
 * download at most what it sent in its first jiffy, and keeps small responses on
 * a path of microseconds apart.
 */
static __always_inline int idle_since(struct tcp_sock *tp, struct mark *m)
{
	if ((__s32)(tp->snd_una - m->last_write_seq) < 0)
		return 0;
	if (m->flags & MARK_DRAINED)
		return 1;
	__u32 start = tp->chrono_start;
	return start != m->last_chrono_start || (__u32)bpf_jiffies64() - start <= 1;
}

static __always_inline void find_response(struct tcp_sock *tp, struct mark *m)
{
	__u64 received = tp->bytes_received;

	if (!(m->flags & MARK_PRIMED)) {
		m->flags |= MARK_PRIMED;
		m->responses = received > 0; /* the first callback may be of the handshake */
		m->last_received = received;
	} else if (received > m->last_received && idle_since(tp, m)) {
		m->base_acked = tp->bytes_acked;
		m->responses++;
		m->flags &= ~(MARK_CROSSED | MARK_PENDING);
		m->last_received = received;
	}
	if (tp->snd_una == tp->write_seq)
		m->flags |= MARK_DRAINED;
	else
		m->flags &= ~MARK_DRAINED;
	m->last_write_seq = tp->write_seq;
	m->last_chrono_start = tp->chrono_start;
}

#endif
