// Package enforce puts a plan into this host's kernel: it loads and attaches the sock_ops
// program, fills its maps, reads its close records and counters, and removes everything
// when it closes.
//
// It decides nothing: prefixes, arms and expiries come in a plan.Program. It measures
// nothing: see linux/sample.
//
// Its trap: the program and the maps live exactly as long as this process holds their file
// descriptors. Nothing is pinned, so kill -9 is a clean stop; a mark (the kernel's memory
// of a connection) goes with them, so connections treated before a restart can then only
// be called unknown.
package enforce
