// Package goodput adds responses up to rows, one for each client network, window, arm and tenant:
// how fast the server wrote the body, and how fast clients acknowledged while there was something to
// send.
//
// It is not a measurement of its own: goodput/accesslog finds the responses, loop/ledger
// makes the records.
//
// Its trap: rows of one key add up. A response is booked in the window in which it crossed the
// threshold and known only when it ends, so a window's rows may come in parts, hours apart.
package goodput
