// Package popdaytest makes runs of an imagined day whose truth is known, for tests of
// what compares runs: goodput is drawn, nothing is sent.
//
// It is no model of a network and nothing that ships uses it.
//
// Its trap: a response's luck is its own in every policy. Real runs of one seed share
// nothing but the schedule, and so must these.
package popdaytest
