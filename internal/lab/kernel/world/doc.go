// Package world runs one cell of the lab on the running kernel: it builds a small
// network of namespaces, sends the cell's flows through it, and reports what it saw.
//
//	srv ----------- bn ----------- wan ----------- cli
//	 [sender's qdisc] [loss before,  [delay, loss after]
//	                   bottleneck]   [delay, loss of acknowledgements back]
//
// It judges nothing: outcome.Run holds facts, and gates are core/outcome's. It changes
// nothing outside its namespaces unless Options.Own says that the machine is its own.
//
// Its trap: all traffic is made by one goroutine with timers of a millisecond. What a
// flow costs is packets in the kernel; a loop that wakes for each of them would double
// it, and in virtual time the CPU's instructions are the clock.
package world
