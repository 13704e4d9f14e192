// Package plan is the steering plan of one PoP: which client prefixes get which
// congestion control, for how long, why, and in which half-hours not (the arms
// of the experiment). It writes and reads the text file of docs/format/plan.md,
// validates, compares, hashes and signs it, and turns it into what the kernel
// program gets.
//
// It does not choose prefixes (core/policy), move files or load maps.
//
// Its trap: lookups search [Plan.Entries], so these must be sorted by prefix.
// [Parse] gives them sorted; after building a plan by hand call [Plan.Sort].
// [Validate] refuses a plan that is not.
package plan
