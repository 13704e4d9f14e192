// Package carry carries out a plan of change on a host, under a journal, and undoes
// it: files and directories below a root, and whatever else has a [Place].
//
// It plans nothing and verifies only that each target has the written value; the caller's
// own check shows whether that works.
//
// Its trap: a target is read twice, when the plan is made and right before the write.
// Between that second look and the write somebody may still change it; the kernel has no
// compare-and-swap for any of these.
package carry
