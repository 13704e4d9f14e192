// Package plan is the steering plan of one PoP: which client prefixes get which congestion
// control, for how long, why, and in which blocks not (the arms of the experiment). It writes
// and reads the text file of docs/format/plan.md, validates, compares, hashes and signs it, and
// computes the kernel program's values from it, and what other
// programs read ([Plan.Export]).
//
// It does not choose prefixes (loop/policy), move files or load maps.
//
// Its trap: lookups search [Plan.Entries], so these must be sorted by prefix.
// [Parse] returns them sorted; after building a plan by hand call [Plan.Sort].
// [Validate] refuses a plan that is not.
package plan
