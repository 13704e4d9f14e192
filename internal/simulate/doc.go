// Package simulate runs the policy over untreated windows: recorded ones, to see what
// other rules would have decided, and those of a simulated city, to see what the loop does
// where the truth is known.
//
// It changes nothing on this host and asks no running congctl. It is not how a restart
// rebuilds its state (loop/controller's Replay): that imposes the stored decisions, this
// decides again.
//
// Its trap: recorded windows do not react. A prefix that the new rules treat continues as
// recorded, so a replay shows which prefixes would be chosen and never what they would
// gain.
package simulate
