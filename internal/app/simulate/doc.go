// Package simulate runs the policy over windows that nobody treats: recorded ones,
// to see what other rules would have decided, and those of an imagined city, to see
// what the loop does where the truth is known.
//
// It changes nothing on this host and asks no running congctl. It is not how a
// restart rebuilds its state (app/controller's Replay): that imposes what was decided,
// this decides anew.
//
// Its trap: what was recorded does not answer. A prefix that the new rules treat goes
// on as recorded, so a replay tells who would be chosen and never what it would gain.
package simulate
