/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* Addresses of the context, and the prefix key that record.Prefix also computes. */
#ifndef CONGCTL_ADDRESS_H
#define CONGCTL_ADDRESS_H

/*
 * An address of the context as 16 bytes in network order; IPv4 becomes
 * ::ffff:a.b.c.d. A macro, since the two sides are different fields. barrier_var
 * keeps clang 14 from merging context loads into pointer arithmetic that the
 * verifier refuses.
 */
#define CONTEXT_ADDR(ops, ip4, ip6, a)              \
	do {                                        \
		if ((ops)->family == AF_INET) {     \
			(a)[0] = (a)[1] = 0;        \
			(a)[2] = bpf_htonl(0xffff); \
			(a)[3] = (ops)->ip4;        \
			break;                      \
		}                                   \
		__u32 w0 = (ops)->ip6[0];           \
		barrier_var(w0);                    \
		__u32 w1 = (ops)->ip6[1];           \
		barrier_var(w1);                    \
		__u32 w2 = (ops)->ip6[2];           \
		barrier_var(w2);                    \
		__u32 w3 = (ops)->ip6[3];           \
		barrier_var(w3);                    \
		(a)[0] = w0, (a)[1] = w1;           \
		(a)[2] = w2, (a)[3] = w3;           \
	} while (0)

static __always_inline void remote_addr(struct bpf_sock_ops *ops, __u32 a[4])
{
	CONTEXT_ADDR(ops, remote_ip4, remote_ip6, a);
}

static __always_inline void local_addr(struct bpf_sock_ops *ops, __u32 a[4])
{
	CONTEXT_ADDR(ops, local_ip4, local_ip6, a);
}

/* record.All: the key of the policy for networks that have none of their own. */
#define ALL_NETWORKS 0xffULL

/* The same number as record.Prefix: /24 or /56 of a 16-byte address. */
static __always_inline __u64 prefix_key(const __u32 a[4])
{
	if (a[0] == 0 && a[1] == 0 && a[2] == bpf_htonl(0xffff))
		return (bpf_ntohl(a[3]) & 0xffffff00) | 24;
	return ((((__u64)bpf_ntohl(a[0]) << 32) | bpf_ntohl(a[1])) & ~0xffULL) | 56;
}

#endif
