// Package limit reads a link as [shape.Link] and makes it send (and receive) at a
// rate: the root qdisc, an ifb for what comes in, TCP's offloads.
//
// It decides nothing about rates and files, which is [shape]'s, and parses no units. Each
// thing that it can change is a setting with a text value, so that a journal can store the
// old one and restore it.
//
// Its trap: a setting belongs to the network namespace of the calling thread. Call it on
// one thread, in the intended namespace.
package limit
