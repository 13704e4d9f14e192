// Package pop runs a day of core/pop on this kernel: an edge that serves HTTP, a hub
// with a path to each client network, clients that ask by the schedule, and the product
// as a process of its own beside the server. It reports what it saw.
//
// It judges nothing, and it wants a machine that is all its own: see kernel/guest.
//
// Its trap: all delay is on the way to the client. Acknowledgements and requests take a
// link of their own and no time, so a round trip is right and half of one is not.
package pop
