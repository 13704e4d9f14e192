// Package advise judges whether a host can run a congestion control, runs it now,
// and will run it after the next boot: facts in, findings out, each with the fix,
// its undo and the reason.
//
// It reads nothing and changes nothing: kernel/host gathers [Facts], core/change
// plans what to write. A host is values, so that a test's imagined host and a real
// one are judged by the same code.
//
// Its trap: "not found" and "not allowed to look" are different answers. A field
// that can be unknown is a [Known]; a finding that needs it is then unknown, too,
// and says who can tell, never "ok" and never "fail".
package advise
