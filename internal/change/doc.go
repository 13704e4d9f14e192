// Package change is a change to a host as a value: the steps of a plan, the journal written
// before and after each of them, and what may still be done from any state in which a crash
// or a power cut left that journal.
//
// It touches nothing: change/kernel/carry reads, writes and keeps the journal. It does not know
// the purpose of a step; the planner does.
//
// Its trap: an intended step that is not done may have happened or not. Only the target can
// tell, so every decision takes its present value.
package change
