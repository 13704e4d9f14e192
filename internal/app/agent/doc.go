// Package agent is the loop on a host: it polls sockets, takes in close records,
// turns both into windows, keeps the plan alive in the kernel, and watches
// whether it sees all there is to see.
//
// It decides nothing about prefixes: a window goes out by OnWindow, a plan comes
// in by SetPlan.
//
// Its trap: one goroutine owns the ledger and the windows. Close records arrive
// on another and wait in a bounded queue while a dump runs; nothing else may
// touch the ledger.
package agent
