// Package world runs one cell of the lab on the running kernel: it builds a small
// network of namespaces, sends the cell's flows through it, and reports what it saw.
//
//	srv ----------- bn ----------- wan ----------- cli
//	 [sender's qdisc] [loss before,  [delay, loss after]
//	                   bottleneck]   [delay, loss of acknowledgements back]
//
// It judges nothing: outcome.Run holds facts, and gates are lab/outcome's. It changes
// nothing outside its namespaces unless Options.Own says that the machine is its own.
//
// Its trap: one goroutine makes all traffic, with millisecond timers. A flow's cost is
// packets in the kernel; a loop that wakes for each of them would double it, and in
// virtual time the CPU's instructions are the clock.
package world
