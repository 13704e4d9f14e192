// Package city is a simulated PoP: some thousand client prefixes whose paths are known, so that
// decisions of the policy can be compared with the truth. Given the treated prefixes it makes the
// window rows that an agent would have reported.
//
// It is a statistical model without a kernel, packets or queues: it shows which rule fails and by how
// much, and forecasts nothing. Nor does it decide anything.
//
// Its trap: windows follow from one another (paths drift), so walk a city from its first window on,
// each window once.
package city
