// Package outcome is what one run of a cell saw (Run: facts only), whether that is
// worth a number (gates), and the numbers (metrics).
//
// It runs nothing and compares no cells with each other.
//
// Its trap: a world only reports. Every judgement is made here, from facts that are
// kept with the result, so that it can be made again.
package outcome
