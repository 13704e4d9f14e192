/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cubic_lt, loss-tolerant CUBIC: the algorithm, in C that the kernel and clang's BPF target both
 * compile. docs/cubic-lt.md has its equations and what was tried; the reason for a number is beside it.
 *
 * The kernel's own CUBIC does the work: each event goes to it first. Two things are added while no
 * queue stands. The window grows faster, and a loss that no queue explains does not cut it. As soon
 * as a queue stands, and for ECN, local drops and timeouts, what happens is what CUBIC does. That
 * takes a window of its own in recovery, hence cong_control, and with it what the kernel does only for
 * congestion controls without it: proportional rate reduction, pacing, the restart after idle time.
 *
 * A form (cubic_lt.bpf.c, and tcp_cubic_lt.c of the lab's kernel) defines the kernel's types, then
 * stock_init, stock_ssthresh, stock_cong_avoid, stock_set_state, stock_acked,
 * tcp_is_cwnd_limited, lt_ca_state and lt_jiffies, and includes this.
 */
#ifndef CONGCTL_CUBIC_LT_H
#define CONGCTL_CUBIC_LT_H

#define LT_CUBIC_BYTES 60    /* struct bictcp of tcp_cubic.c: the loader compares it with the kernel's BTF */
#define LT_QUEUE_US    2000U /* a queue shorter than this is none: two packets take that long at 10 Mbit/s */
#define LT_BASE	       6     /* 1/256 of packets: the path's own losses until they are known, 2.3 %: the guard trips at 6.2 % */
#define LT_SAMPLE      64U   /* packets from which such a share is told: one deviation is 1.9 points at 2.3 % */
#define LT_MARGIN      4     /* 1/256 beyond twice the path's share, 1.6 %: two deviations above 2.3 % */
#define LT_LEAST       8     /* 1/256, 3 %, below which it never trips: the few losses of a clean path come together */
#define LT_MOST	       32    /* 1/256, 12.5 %, the most that is the path's: with it the guard trips at 27 %, and with more it is none */
#define LT_HOLD	       16    /* 131 ms: 2 s, the first time that the guard trips: five rounds of 400 ms, for two cuts and the packets to count */
#define LT_TRIPS       6     /* that hold doubles so often: to 134 s, half of the 300 s that the floor lasts */
#define LT_CAP_ROUNDS  64    /* clear rounds after which the cap rises, by 1/32 a round, half of the slowest growth: neighbours come first */
#define LT_NONE	       (~0U)
#define LT_WINDOW      32767U /* packets; a larger window is CUBIC's alone, since counters have 16 bits */
#define LT_CAP_LEAST   8U     /* packets in a round that say what the path has */
#define LT_INFINITE    0x7fffffffU /* TCP_INFINITE_SSTHRESH */
#define LT_INITIAL     10U	   /* TCP_INIT_CWND */
#define LT_EXTRA       127U	   /* 16 ms, a packet at 0.75 Mbit/s; this, and more, is not known */

/* TCP_CA_ of the kernel. */
enum { LT_OPEN, LT_DISORDER, LT_CWR, LT_RECOVERY, LT_LOSS };
#define LT_ACK_ECE (1 << 2) /* CA_ACK_ECE */

struct lt {
	u8  cubic[LT_CUBIC_BYTES];
	u32 round_start;	/* us */
	u32 round_min;		/* least RTT of this round, us */
	u32 near[2];		/* least RTT of the newest samples, up to four, and of the four before, us */
	/* base, tripped: share of packets lost, 1/256: the path's, and when the guard tripped. clear_rounds: in a row. extra:
	 * what data takes beyond the floor at least, 128 us. */
	u32 base:6, tripped:7, clear_rounds:7, extra:7, cuts:2, trips:3;
	u16 lost0, delivered0;	/* tp's counters when the round began, the low half */
	u16 round_delivered;	/* packets, in the last round */
	u16 mean_delivered;	/* over about four */
	u16 cap;		/* window beyond which nothing is accelerated */
	u16 stock;		/* what CUBIC would have had as ssthresh */
	u16 seen_lost, seen_all; /* packets lost, and sent, of late: the guard's */
	u16 trip_delivered;	/* packets a round when the guard tripped */
	u16 hold;		/* stock CUBIC until then, 131 ms */
	u16 prr_delivered;	/* packets since the reduction began */
	/* initial: cwnd at the start, to which idle time leads back.
	 * ce: the last ACK had ECE. slow: slow start goes on after this recovery. skip: the guard leaves
	 * this round out. fast: it tripped in slow start. own: this recovery's window is ours. advanced: the ACK
	 * in progress acknowledges data. acking: there is one. */
	u16 initial:6, near_n:3, ce:1, slow:1, skip:1, fast:1, own:1, advanced:1, acking:1;
};

static __always_inline u32 lt_min(u32 a, u32 b) { return a < b ? a : b; }
static __always_inline u32 lt_max(u32 a, u32 b) { return a > b ? a : b; }
static __always_inline u16 lt_u16(u32 x) { return lt_min(x, 65535); }
static __always_inline u32 lt_floor(const struct tcp_sock *tp) { return tp->rtt_min.s[0].v; }
static __always_inline u16 lt_clock(const struct tcp_sock *tp) { return tp->tcp_mstamp >> 17; }

static __always_inline u32 lt_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

/*
 * An RTT that met no queue. The floor is the handshake's, of small packets. On a slow line a packet of data takes
 * longer, by extra at least, and the second of two that are acknowledged together twice that.
 */
static __always_inline bool lt_at_floor(const struct tcp_sock *tp, const struct lt *lt, u32 rtt)
{
	u32 floor = lt_floor(tp), queue = lt_max(LT_QUEUE_US, floor / 20);

	return rtt <= floor + lt_max(queue, lt_min(lt->extra < LT_EXTRA ? 2 * 128 * lt->extra : 0, floor / 4) + queue / 8);
}

static __always_inline bool lt_clear(const struct tcp_sock *tp, const struct lt *lt)
{
	return tp->snd_cwnd <= LT_WINDOW && lt_at_floor(tp, lt, lt_min(lt->near[0], lt->near[1]));
}

static __always_inline bool lt_held(const struct tcp_sock *tp, const struct lt *lt)
{
	return lt->trips && (u16)(lt->hold - lt_clock(tp) - 1) < LT_HOLD << LT_TRIPS; /* a clock that wraps */
}

/* The window grows by one part in so many a round. */
static __always_inline u32 lt_divisor(const struct lt *lt)
{
	return lt->clear_rounds < 2 || lt->trips ? 16 : lt->clear_rounds < 6 ? 8 : 4;
}

static __always_inline void lt_begin_round(const struct tcp_sock *tp, struct lt *lt)
{
	lt->round_start = tp->tcp_mstamp;
	lt->round_min = LT_NONE;
	lt->lost0 = tp->lost;
	lt->delivered0 = tp->delivered;
}

/* tcp_update_pacing_rate */
static __always_inline void lt_pace(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = (u64)tp->mss_cache * (1000000 / 100 << 3);
	struct net *net = sock_net(sk);

	if (!net) /* never, but the verifier of some kernels asks */
		return;
	rate *= tp->snd_cwnd < tp->snd_ssthresh / 2 ? net->ipv4.sysctl_tcp_pacing_ss_ratio : net->ipv4.sysctl_tcp_pacing_ca_ratio;
	rate *= lt_max(tp->snd_cwnd, tp->packets_out);
	if (tp->srtt_us)
		rate /= tp->srtt_us;
	if (rate > sk->sk_max_pacing_rate)
		rate = sk->sk_max_pacing_rate;
	sk->sk_pacing_rate = rate;
}

static __always_inline void lt_init(struct sock *sk, struct lt *lt)
{
	struct tcp_sock *tp = tcp_sk(sk);

	stock_init(sk);
	lt->round_delivered = lt->mean_delivered = lt->stock = lt->seen_lost = lt->seen_all = 0;
	lt->trip_delivered = lt->hold = 0;
	lt->prr_delivered = lt_u16(tp->prr_delivered);
	lt->tripped = lt->clear_rounds = 0;
	lt->initial = tp->delivered > 1 || tp->snd_cwnd < 2 ? LT_INITIAL : lt_min(tp->snd_cwnd, 63); /* 1 after lost SYN-ACKs */
	lt->near_n = lt->cuts = lt->trips = 0;
	lt->ce = lt->slow = lt->skip = lt->fast = lt->own = lt->advanced = lt->acking = 0;
	lt->near[0] = lt->near[1] = LT_NONE;
	lt->cap = 65535;
	lt->extra = LT_EXTRA;
	lt->base = LT_BASE;
	/* Another congestion control had this connection, and was cut to little: on a path that is empty now slow start
	 * looks again for what it has. */
	if (tp->delivered > 1 && lt_ca_state(sk) == LT_OPEN && tp->srtt_us && lt_at_floor(tp, lt, tp->srtt_us >> 3))
		tp->snd_ssthresh = LT_INFINITE;
	lt_begin_round(tp, lt);
	lt_pace(sk);
}

/*
 * Ends a recovery of our own with the reduction that CUBIC makes, of the window that was ours. Then nothing is sent until no more
 * than ssthresh is in flight. To reduce in proportion from there on, as RFC 6937 would, is one term more and no cell's gain:
 * 37 Mbit/s of 50 with a buffer of 10 ms either way, and of 50 Mbit/s at 4 % of loss 32 [17, 39] for 30 [25, 37].
 */
static __always_inline void lt_cut(struct sock *sk, struct lt *lt)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tp->snd_cwnd;

	tp->snd_cwnd = tp->snd_ssthresh;
	tp->snd_ssthresh = stock_ssthresh(sk);
	tp->snd_cwnd = cwnd;
	lt->stock = lt_u16(tp->snd_ssthresh);
	lt->own = lt->slow = 0;
}

/* This flow's part of the empty pipe, D F / srtt: what it is worth to grow fast to. */
static __always_inline void lt_set_cap(const struct tcp_sock *tp, struct lt *lt)
{
	if (tp->srtt_us >> 3 && lt->round_delivered >= LT_CAP_LEAST)
		lt->cap = lt_u16((u64)lt->round_delivered * lt_floor(tp) / (tp->srtt_us >> 3));
}

/*
 * The guard, for queues too short for an RTT to show, and policers. Where the share of packets lost
 * while clear passes twice the path's, be CUBIC for 2 s, the next time 4, 8 ... 134 s. The cut is the
 * experiment: where a quarter less is delivered after two of them and the losses go on, they are the path's,
 * whose share is known from now on; where they stop, they were ours.
 */
static __always_inline void lt_guard(struct sock *sk, struct lt *lt, u32 lost, u32 delivered)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 limit = lt_min(lt_max(4 * tp->snd_cwnd, 4 * LT_SAMPLE), 16384), share, seen_lost, seen_all;
	u32 window = lt_max(lt_max(lt->mean_delivered, tp->snd_cwnd), tp->snd_ssthresh);
	bool held = lt_held(tp, lt);
	int i;

	if (lt->skip) { /* packets sent before the reduction */
		lt->skip = 0;
		return;
	}
	if (lt->tripped && held && (lt->cuts < 2 || window > lt->trip_delivered * 3U / 4))
		return;
	seen_lost = lt_min(lt->seen_lost + lost, 32767);
	seen_all = lt_min(lt->seen_all + lost + delivered, 32767);
	for (i = 0; i < 8 && seen_all > limit; i++) {
		seen_lost >>= 1;
		seen_all >>= 1;
	}
	lt->seen_lost = seen_lost;
	lt->seen_all = seen_all;
	share = seen_all ? lt_min(seen_lost * 256 / seen_all, 127) : 0;
	if (seen_all < LT_SAMPLE)
		return;
	if (lt->tripped && !held) { /* they have stopped */
		lt->base = lt_min(lt->base, share);
		lt->tripped = 0;
	}
	/* Twice the sample tells 5 % from half of it: 6 packets and 3. */
	if (lt->tripped && seen_all >= 2 * LT_SAMPLE - 1 && seen_lost > 2 && 2 * share >= lt->tripped) {
		/* They go on. After a slow start that passed a bucket's rate by far they may do so for that. */
		if (!lt->fast)
			lt->base = lt_min(share, LT_MOST);
		lt->hold = lt_clock(tp);
		lt->trips = lt->tripped = 0;
	} else if (!held && seen_lost > 4 && share > lt_max(2 * lt->base + LT_MARGIN, LT_LEAST)) {
		lt->hold = lt_clock(tp) + (LT_HOLD << lt->trips);
		lt->trips = lt_min(lt->trips + 1, LT_TRIPS);
		lt->tripped = share;
		lt->trip_delivered = lt_min(lt->mean_delivered, delivered);
		lt->seen_lost = lt->seen_all = 0;
		lt->cuts = 0;
		lt->fast = lt->slow || tp->snd_ssthresh >= LT_INFINITE;
		lt->skip = 1;
		lt->slow = 0;
		if (lt->own)
			lt_cut(sk, lt);
	}
}

/*
 * The window after a loss that no queue explains: growth from what arrives, since where each round has a
 * loss this is the only place to grow. No window is kept that is a quarter above what the path delivers: so much
 * the fastest growth adds in the round before it is delivered.
 */
static __always_inline u32 lt_soft_window(const struct lt *lt, u32 window, bool slow)
{
	u32 keep = lt->mean_delivered + lt->mean_delivered / 4;
	u32 target = lt_min(lt->round_delivered, keep);

	target += slow ? target / 2 : target / lt_divisor(lt);
	if (!slow) {
		target = lt_min(target, lt->cap);
		keep = lt_min(window, keep);
	} else {
		keep = window;
	}
	return lt_max(keep, lt_min(target, 2 * window));
}

/* A long recovery, in which the kernel asks for no ssthresh again: its rounds are judged one by one. */
static __always_inline void lt_recovery_round(struct sock *sk, struct lt *lt, u32 lost, bool clear)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!clear) {
		lt->slow = 0;
		if (lost && lt->own) {
			lt_set_cap(tp, lt);
			lt_cut(sk, lt);
		}
	} else if (lt_held(tp, lt)) {
		if (lost)
			lt->cuts = lt_min(lt->cuts + 1, 3);
	} else if (lt_clear(tp, lt) && (lt->own || (lost && lt->clear_rounds >= 2 && !lt->ce))) {
		lt->own = 1;
		tp->snd_ssthresh = lt_max(lt_soft_window(lt, tp->snd_ssthresh, lt->slow), lt_min(lt->stock, tp->snd_ssthresh));
	}
}

static __always_inline void lt_end_round(struct sock *sk, struct lt *lt)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u16 lost = tp->lost - lt->lost0, delivered = tp->delivered - lt->delivered0;
	bool judged = lt->round_min != LT_NONE, clear = judged && lt_at_floor(tp, lt, lt->round_min);

	if (judged)
		lt->clear_rounds = clear ? lt_min(lt->clear_rounds + 1, 127) : 0;
	if (lt->clear_rounds && lt_clear(tp, lt))
		lt_guard(sk, lt, lost, delivered);
	if (lt->clear_rounds >= LT_CAP_ROUNDS && (lt->own ? tp->snd_ssthresh : tp->snd_cwnd) >= lt->cap)
		lt->cap = lt_u16(lt->cap + lt->cap / 32 + 1);
	lt->round_delivered = delivered;
	if (tp->snd_ssthresh >= LT_INFINITE)
		lt->mean_delivered = lt_u16(tp->snd_cwnd);
	else if (delivered > lt->mean_delivered)
		lt->mean_delivered += (u32)(delivered - lt->mean_delivered) / 4;
	else
		lt->mean_delivered -= (u32)(lt->mean_delivered - delivered) / 4;
	if (judged && lt_ca_state(sk) == LT_RECOVERY)
		lt_recovery_round(sk, lt, lost, clear);
	lt_begin_round(tp, lt);
}

static __always_inline void lt_acked(struct sock *sk, struct lt *lt, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!lt->own) /* or HyStart, for which no round ends in a recovery, would end slow start */
		stock_acked(sk, sample);
	lt->advanced = sample->pkts_acked > 0;
	lt->acking = 1;
	if (sample->rtt_us > 0) {
		u32 rtt = sample->rtt_us, floor = lt_floor(tp);

		lt->extra = lt_min(lt->extra, rtt > floor ? (rtt - floor) / 128 : 0);
		if (lt->near_n >= 4) {
			lt->near[1] = lt->near[0];
			lt->near[0] = LT_NONE;
			lt->near_n = 0;
		}
		lt->near_n++;
		lt->near[0] = lt_min(lt->near[0], rtt);
		lt->round_min = lt_min(lt->round_min, rtt);
	}
	if ((u32)tp->tcp_mstamp - lt->round_start >= lt_max(tp->srtt_us >> 3, 500))
		lt_end_round(sk, lt);
}

static __always_inline u32 lt_ssthresh(struct sock *sk, struct lt *lt)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 stock = stock_ssthresh(sk);
	bool slow = tp->snd_ssthresh >= LT_INFINITE;

	lt->slow = lt->own = 0;
	lt->prr_delivered = 0;
	lt->stock = lt_u16(stock);
	if (lt->ce || !tp->lost_out)
		return stock;
	if (!lt_clear(tp, lt)) {
		lt_set_cap(tp, lt);
		return stock;
	}
	if (lt_held(tp, lt)) {
		lt->cuts = lt_min(lt->cuts + 1, 3);
		return stock;
	}
	lt->own = 1;
	lt->slow = slow;
	return lt_max(stock, lt_soft_window(lt, tp->snd_cwnd, slow));
}

/*
 * Congestion avoidance: CUBIC's growth, and while clear a second one, up to 7/8 of the cap: the whole cap is 62 % of two flows' line
 * in a buffer of 0.1 BDP.
 */
static __always_inline void lt_avoid(struct sock *sk, struct lt *lt, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool slow = tp->snd_cwnd < tp->snd_ssthresh;

	stock_cong_avoid(sk, tp->snd_una, acked);
	/* CUBIC has counted the same packets into snd_cwnd_cnt: twice the divisor. */
	if (!slow && tcp_is_cwnd_limited(sk) && lt->clear_rounds && lt_clear(tp, lt) && tp->snd_cwnd < lt->cap - lt->cap / 8 && !lt_held(tp, lt))
		tcp_cong_avoid_ai(tp, 2 * lt_divisor(lt), acked);
}

static __always_inline void lt_set_cwnd(struct tcp_sock *tp, u32 cwnd)
{
	tp->snd_cwnd = lt_min(cwnd, tp->snd_cwnd_clamp);
}

/*
 * Proportional rate reduction (tcp_cwnd_reduction, RFC 6937). In a recovery of our own what was lost is
 * replaced as well as what was delivered, up to the window; not in slow start, which may have passed a policer's rate by far.
 */
static __always_inline void lt_reduce(struct tcp_sock *tp, struct lt *lt, u32 acked, u32 lost)
{
	u32 in_flight = lt_in_flight(tp), prior = tp->prior_cwnd;
	s32 send;

	if (!acked || !prior)
		return;
	lt->prr_delivered = lt_u16(lt->prr_delivered + acked);
	if (lt->own) {
		send = lt_min(acked + (lt->slow ? 0 : lost) + 1, tp->snd_ssthresh > in_flight ? tp->snd_ssthresh - in_flight : 0);
	} else if (tp->snd_ssthresh < in_flight) {
		send = (s32)(((u64)tp->snd_ssthresh * lt->prr_delivered + prior - 1) / prior) - (s32)tp->prr_out;
	} else {
		send = lt->prr_delivered - (s32)tp->prr_out;
		if (send < (s32)acked)
			send = acked;
		if (lt->advanced && !lost)
			send++;
		send = lt_min(send, tp->snd_ssthresh - in_flight);
	}
	if (send < (tp->prr_out ? 0 : 1)) /* the first retransmission does not wait */
		send = tp->prr_out ? 0 : 1;
	lt_set_cwnd(tp, in_flight + send);
}

static __always_inline void lt_cong_control(struct sock *sk, struct lt *lt, u32 acked, u32 lost)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct net *net = sock_net(sk);
	u8 state = lt_ca_state(sk);

	if (lt->own && lt->ce) /* the receiver says it once */
		lt_cut(sk, lt);
	if (state == LT_CWR || state == LT_RECOVERY)
		lt_reduce(tp, lt, acked, lost);
	else if (lt->advanced || (net && tp->reordering > net->ipv4.sysctl_tcp_reordering && acked)) /* tcp_may_raise_cwnd */
		lt_avoid(sk, lt, acked);
	lt->advanced = lt->acking = 0;
	lt_pace(sk);
}

static __always_inline void lt_set_state(struct sock *sk, struct lt *lt, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u8 before = lt_ca_state(sk);

	stock_set_state(sk, state);
	if (state == LT_LOSS) {
		if (lt->own && tp->snd_ssthresh > lt->stock)
			tp->snd_ssthresh = lt->stock;
		lt->slow = lt->own = 0;
		lt->clear_rounds = 0;
	} else if (state == LT_RECOVERY && !lt->acking) {
		lt_reduce(tp, lt, 1, 0); /* tcp_rack_reo_timeout: a timer, no ACK */
	} else if (state <= LT_DISORDER && (before == LT_CWR || before == LT_RECOVERY)) {
		/* tcp_end_cwnd_reduction, unless it was undone */
		if (tp->snd_ssthresh < LT_INFINITE && (before == LT_CWR || tp->undo_marker)) {
			lt_set_cwnd(tp, tp->snd_ssthresh);
			if (lt->slow) /* no queue, no end of slow start */
				tp->snd_ssthresh = LT_INFINITE;
		}
		lt->slow = lt->own = 0;
	}
}

/* The restart after idle time (tcp_cwnd_restart, RFC 2861): half of the window for each RTO. */
static __always_inline void lt_restart(struct sock *sk, struct lt *lt)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct net *net = sock_net(sk);
	u32 idle = lt_jiffies() - tp->lsndtime, rto = inet_csk(sk)->icsk_rto, cwnd = tp->snd_cwnd, least = lt_min(lt->initial, cwnd);
	u8 state = lt_ca_state(sk);
	int i;

	if (!net || !net->ipv4.sysctl_tcp_slow_start_after_idle || tp->packets_out || (s32)(idle - rto) <= 0)
		return;
	if (state != LT_CWR && state != LT_RECOVERY) /* tcp_current_ssthresh */
		tp->snd_ssthresh = lt_max(tp->snd_ssthresh, (cwnd >> 1) + (cwnd >> 2));
	for (i = 0; i < 16 && idle > rto && cwnd > least; i++) {
		idle -= rto;
		cwnd >>= 1;
	}
	tp->snd_cwnd = lt_max(cwnd, least);
}

#endif
