/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* The maps of congctl.bpf.c, what the loader sets, and how a connection is found in them. */
#ifndef CONGCTL_MAPS_H
#define CONGCTL_MAPS_H

/* One jiffy in us, set by the loader: the chrono counters are in jiffies. */
const volatile __u32 jiffy_us = 4000;
/* Follow only the local ports of map ports; 0: all. */
const volatile __u32 filter_ports = 0;
/* Bytes acknowledged since the crossing from which on a rate sample is late: record.LateBytes. */
const volatile __u32 late_bytes = 300000;
/* Ring bytes waiting that wake the reader before its timer does. */
const volatile __u32 wakeup_bytes = 1 << 20;

/* Puts the record's layout into BTF, where a test compares it with Go's. */
const struct close_record *close_record_layout __attribute__((unused));

#define MAP_HASH(name, k, v, n)                    \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_HASH);   \
		__uint(max_entries, n);            \
		__type(key, k);                    \
		__type(value, v);                  \
	} name SEC(".maps")

/* Two policy maps: Set() fills the idle one and flips control.active, so a
 * reader sees the old plan or the new one and never a mixture. */
MAP_HASH(policy_a, __u64, struct policy, 1024); /* the loader sizes both from the plan's cap */
MAP_HASH(policy_b, __u64, struct policy, 1024);
MAP_HASH(netns, __u64, struct netns_state, 4096);
MAP_HASH(ports, __u16, __u8, 65536); /* local ports that are followed, where filter_ports is set */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct mark);
} marks SEC(".maps");

struct lpm_key {
	__u32 bits; /* of a 128-bit address; IPv4 is ::ffff:a.b.c.d */
	__u8 addr[16];
};

/* Small: exceptions inside or across planned prefixes. An LPM trie is 2-4 times
 * slower than a hash and stalls when a big one is freed, so prefixes are not here. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 8192);
	__type(key, struct lpm_key);
	__type(value, __u32);
} deny SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} closes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STAT_MAX);
	__type(key, __u32);
	__type(value, __u64);
} stats SEC(".maps");

static __always_inline void count(__u32 i)
{
	__u64 *n = bpf_map_lookup_elem(&stats, &i);
	if (n)
		(*n)++;
}

/* The tcp_sock and the mark of a connection that is followed; 0 for any other. */
static __always_inline struct tcp_sock *followed(struct bpf_sock_ops *ops, struct mark **m)
{
	struct bpf_sock *sk = ops->sk;
	if (!sk)
		return 0;
	*m = bpf_sk_storage_get(&marks, sk, 0, 0);
	if (!*m)
		return 0;
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		count(STAT_NO_TP);
	return tp;
}

#endif
