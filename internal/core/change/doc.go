// Package change is a change to a host as a value: the steps of a plan, the journal
// that is written before and after each of them, and what may still be done from any
// state in which a crash or a power cut left that journal.
//
// It touches nothing: kernel/change reads, writes and keeps the journal. It does not
// know what a step is good for; who plans does.
//
// Its trap: a step that is intended and not done may have happened or not. Only the
// target can tell, so every decision takes the value that it has now.
package change
