// Package model predicts the goodput of one TCP connection from plain numbers: the
// physical bound, CUBIC round by round, and BBRv1 as a fluid.
//
// It knows no cell and no kernel; lab/theory turns cells into its numbers.
//
// Its trap: a band is for one run. The median of many runs lies well inside it, and a run
// that leaves it is rare but allowed; lab/theory decides when that is a finding.
package model
