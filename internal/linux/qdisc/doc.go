// Package qdisc sets queueing disciplines on links and reads their counters, over route
// netlink: netem, tbf, fq, fq_codel, the fifos, noqueue, and a policer.
//
// It makes no links, knows no topology, and parses no units: rates are bytes per
// second, as the kernel takes them ([BytesPerS] truncates as tc does).
//
// Options are encoded here, not by the netlink module: that has neither netem's loss
// models, seed and 64-bit times nor the exact burst of tbf, and takes the kernel's clock
// tick from /proc when the program starts, when a first process has no /proc yet.
//
// Its trap: the counters of a qdisc include what its children dropped, but the
// packets that it sent are those its children let through.
package qdisc
