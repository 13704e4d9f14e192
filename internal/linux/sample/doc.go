// Package sample reads the TCP sockets of this host: a dump over netlink's socket
// diagnosis, in this network namespace or in many, with the listening ports,
// the default congestion control and the kernel's own connection counter of each.
// It is not a store: it hands out one socket at a time and keeps none.
//
// It speaks netlink with plain system calls. The usual Go libraries allocate for each
// message, which is per socket here, and cost more than the kernel's side of the dump; one
// buffer, one Sock and an in-place decoder cost almost nothing.
//
// The trap: a thread belongs to a network namespace, and Go moves goroutines
// between threads. Only nsthread changes a thread's namespace; everything else
// works on descriptors that were opened inside and stay bound to it.
//
// A second trap: a descriptor that is bound to a namespace keeps it alive. Call
// Namespaces.Refresh often (each poll), or devices of dead containers linger.
package sample
