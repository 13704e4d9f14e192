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
 *
 * A response that crossed the threshold ends exactly, since its treatment must end
 * before the first byte of the next one. A callback comes for the first
 * acknowledgement beyond what had been sent at the last one, so after a callback
 * that finds all written data sent there may be none until the next response is on
 * its way: watch() then asks to be called at writes too. In between, where a sender keeps
 * data waiting, writes cost nothing.
 */
#ifndef CONGCTL_RESPONSE_H
#define CONGCTL_RESPONSE_H

/*
 * What a callback reads of the socket, through the context where that has it: a load through
 * tp is guarded by eight instructions, one through the context by three.
 */
struct seen {
	__u64 acked, received;
	__u32 una, nxt, end, start; /* snd_una, snd_nxt, write_seq, chrono_start */
};

static __always_inline void look(const struct bpf_sock_ops *ops, const struct tcp_sock *tp, struct seen *s)
{
	s->acked = ops->bytes_acked;
	s->received = ops->bytes_received;
	s->una = ops->snd_una;
	s->nxt = ops->snd_nxt;
	s->end = tp->write_seq;
	s->start = tp->chrono_start;
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
static __always_inline int idle_since(const struct mark *m, const struct seen *s)
{
	if ((__s32)(s->una - m->last_write_seq) < 0)
		return 0;
	if (m->flags & MARK_DRAINED)
		return 1;
	return s->start != m->last_chrono_start || (__u32)bpf_jiffies64() - s->start <= 1;
}

static __always_inline void begin_response(struct mark *m, __u64 acked, __u64 received)
{
	m->base_acked = acked;
	m->before = 0;
	m->flags &= ~(MARK_CROSSED | MARK_PENDING | MARK_ASKED);
	m->last_received = received;
}

/* Reports whether a response has begun since the last callback. */
static __always_inline int find_response(struct mark *m, const struct seen *s)
{
	int begun = 0;

	if (!(m->flags & MARK_PRIMED)) {
		m->flags |= MARK_PRIMED;
		m->last_received = s->received;
	} else if (s->received > m->last_received && idle_since(m, s)) {
		begin_response(m, s->acked, s->received);
		begun = 1;
	}
	m->flags = (m->flags & ~MARK_DRAINED) | (s->una == s->end ? MARK_DRAINED : 0);
	m->last_write_seq = s->end;
	m->last_chrono_start = s->start;
	return begun;
}

/*
 * Bytes known to belong to the response in progress: what is acknowledged of it, and what is
 * in flight if nothing waits to be sent. No callback has to come before the end of such a
 * response, and on a fast path hundreds of kilobytes can be that last flight: without it
 * only slow paths would have responses that reach the threshold.
 */
static __always_inline __u64 response_bytes(const struct mark *m, const struct seen *s)
{
	__u64 n = s->acked - m->base_acked;
	if (s->nxt == s->end)
		n += (__u32)(s->end - s->una);
	return n;
}

/* On a treatment that begins with the first byte: each response is asked for before it begins. */
static __always_inline int treated_early(const struct mark *m)
{
	return (m->flags & (MARK_SWITCHED | MARK_EVICTED | MARK_ASKED)) == (MARK_SWITCHED | MARK_ASKED);
}

/* Before a write: does it begin the response that follows one that crossed, or was treated from its first byte on? */
static __always_inline int write_begins(struct tcp_sock *tp, struct mark *m)
{
	__u64 received = tp->bytes_received;
	if (!(m->flags & MARK_CROSSED || treated_early(m)) || tp->snd_una != tp->write_seq || received <= m->last_received)
		return 0;
	begin_response(m, tp->bytes_acked, received);
	/* What it queues now is the busy period that the next callback finds. */
	m->flags &= ~MARK_DRAINED;
	m->last_chrono_start = (__u32)bpf_jiffies64();
	return 1;
}

/*
 * Asks to be called at writes, or no longer. The kernel asks a program that may add
 * header options for their length where it computes the MSS, at the start of each
 * sendmsg; ours adds none. The call replaces the flags: keep what others have set.
 */
static __always_inline void watch(struct bpf_sock_ops *ops, struct mark *m, int all_sent)
{
	__u32 want = (m->flags & MARK_CROSSED || treated_early(m)) && all_sent ? MARK_WATCHED : 0;
	if (want == (m->flags & MARK_WATCHED))
		return;
	__u32 flags = ops->bpf_sock_ops_cb_flags;
	if (!want)
		flags &= ~BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;
	else if (flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG)
		return; /* another program's, which calls us too */
	else
		flags |= BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;
	m->flags ^= MARK_WATCHED;
	bpf_sock_ops_cb_flags_set(ops, flags);
}

#endif
