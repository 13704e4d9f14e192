// Package policy decides which client prefixes of one PoP are treated: it keeps
// each prefix's history of performance, group, duty cycle and flap rate, applies
// the guards, and says why. docs/policy.md is the same in words for users.
//
// It does not draw arms (loop/plan does), measure connections, or do the statistics
// of an effect (loop/effect). It has no clock: a round's time is its argument.
//
// Its trap: a treated prefix is judged by its control rows only. Judged by its
// treated connections it would be released as soon as the treatment works and
// selected again once it stops.
package policy
