// Package agent is the loop on a host: it polls sockets, takes in close records, turns
// both into windows, keeps the plan alive in the kernel, and checks that it sees
// everything there is to see.
//
// It decides nothing about prefixes: OnWindow hands out a window, SetPlan takes a plan.
//
// Its trap: one goroutine owns the ledger and the windows. Close records arrive on
// another and wait in a bounded queue during a dump; nothing else may touch the ledger.
package agent
