// Package ledger joins what the poller saw of a connection with what its close
// record says, into exactly one [record.Conn] for each connection and window.
//
// It reads no socket, no ring and no clock: the poller calls [Ledger.Namespace],
// [Ledger.BeginPoll], [Ledger.Sock] and [Ledger.EndPoll], the ring's reader calls
// [Ledger.Close], all from one goroutine. It decides no arm: it asks Config.ArmAt.
//
// The rule behind everything: an observation of a connection (a sight in a dump, or its
// close record) ends an interval, and what the counters moved in that interval belongs to the
// window of the observation that ends it. A poll names its window, and the one right at a
// window's end (the final poll) names the window that just ended; a close has the window of
// its own time. A window that has its record takes nothing more: a later observation that
// would fall into it goes to the next window.
//
// Its trap: the record given to Config.Emit is reused. Copy it to keep it.
package ledger
