// Package bandit is the rule of a rival: it learns one congestion control for all
// clients behind a next hop, and moves whoever loses packets to BBR at once. It was
// written from a description of Oracle's bpftune (its TCP connection tuner), to have
// something that the loop can be held against, and shares no code with it.
//
// It is never used on a host: the lab's policy `bpftune` is bpf/bandit.bpf.c, and this
// is what that program must say.
//
// Its trap: the best rate of an arm never ages. One lucky connection is remembered for
// ever, as in the original.
package bandit
