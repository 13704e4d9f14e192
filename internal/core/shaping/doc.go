// Package shaping knows what it takes to limit what a link sends: units that can be
// read in one way only, the size of a token bucket and of its queue, and the plan
// from a link as it is to a link as it was asked for.
//
// It touches no link and writes no file: a [Link] comes in as facts, [Target] goes out.
//
// Its trap: tc's units look like ours and are not. "1mbps" is a million bytes per
// second in tc and a million bits elsewhere, so it is refused here, never guessed.
package shaping
