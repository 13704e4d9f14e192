// Package shape plans a limit on what a link sends: units that can be read in only one
// way, the size of a token bucket and of its queue, and the plan from a link as it is to
// a link as requested.
//
// It touches no link and writes no file: a [Link] comes in as facts, a [Target] goes out.
//
// Its trap: tc's units look like ours and are not. "1mbps" is a million bytes per second
// in tc and a million bits elsewhere, so it is refused here, never guessed.
package shape
