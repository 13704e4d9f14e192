// Package advise judges whether a host can run a congestion control, runs it now,
// and will run it after the next boot: facts in, findings out, each with the fix,
// its undo and the reason.
//
// It reads nothing and changes nothing: host/kernel/inspect gathers [Facts], change plans what
// to write. A host is values, so that the same code judges a test's imagined host and a real
// one.
//
// Its trap: "not found" and "not allowed to look" are different answers. A field that can be
// unknown is a [Known]; a finding that needs it is then unknown, too, and says who can find
// out. It is never "ok" and never "fail".
package advise
