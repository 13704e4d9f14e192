// Package popworld runs a day of popday/pop on this kernel: an edge that serves HTTP, a hub with
// a path to each client network, clients that send requests by the schedule, and the
// product as a separate process beside the server. It reports what it saw.
//
// It judges nothing, and needs a machine of its own: see lab/kernel/guest.
//
// Its trap: all delay is on the way to the client. Acknowledgements and requests take a
// separate link and no time, so a round trip is right and half of one is not.
package popworld
