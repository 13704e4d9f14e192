// Package city is an imagined PoP: some thousand client prefixes whose paths are
// known, so that what the policy decides can be held against the truth. Given who is
// treated it makes the window rows that an agent would have reported.
//
// It is a statistical model without a kernel, packets or queues: it shows which rule
// fails and by how much, and forecasts nothing. It decides nothing either.
//
// Its trap: windows follow from one another (paths drift), so a city is walked from
// its first window on, and each window once.
package city
