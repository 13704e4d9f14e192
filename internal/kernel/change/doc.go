// Package change carries out a plan of core/change on a host, under a journal, and
// takes it back: files and directories below a root, and whatever else has a [Place].
//
// It plans nothing and verifies only that each target has what was written; what that
// is good for is told by the caller's own check.
//
// Its trap: a target is read twice, when the plan is made and right before the write.
// Between that second look and the write somebody may still change it; the kernel has
// no compare-and-swap for any of these.
package change
