// Package enforce puts a plan into this host's kernel: it loads and attaches the
// sock_ops program, fills its maps, reads its close records and counters, and
// takes everything away when it closes.
//
// It decides nothing: which prefix, which arm and until when come in a
// plan.Program. It measures nothing: see kernel/sample.
//
// Its trap: the program and the maps live as long as this process holds their
// file descriptors and not a moment longer. Nothing is pinned, so kill -9 is a
// clean stop; a mark (what the kernel remembers of a connection) dies with them
// too, and connections treated before a restart can then only be called unknown.
package enforce
