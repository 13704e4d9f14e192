// Package popdaytest makes runs of an imagined day whose truth is known, to test what
// compares runs: goodput is drawn, nothing is sent.
//
// It does not model a network, and nothing that ships uses it.
//
// Its trap: a response's luck differs between policies. Real runs of one seed share only the
// schedule, and so must these.
package popdaytest
