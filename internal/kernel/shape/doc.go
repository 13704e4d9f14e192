// Package shape reads a link as [shaping.Link] and makes it send (and receive) at a
// rate: the root qdisc, an ifb for what comes in, TCP's offloads.
//
// It decides nothing about rates and files, which is [shaping]'s, and parses no units. Each
// thing that it can change is a setting with a text as value, so that a journal can hold
// the one before and put it back.
//
// Its trap: a setting is of the network namespace of the thread that asks. Call it on one
// thread, in the namespace that is meant.
package shape
