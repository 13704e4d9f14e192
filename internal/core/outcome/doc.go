// Package outcome is what one run of a cell saw (Run: facts only), whether that is
// worth a number (gates), the numbers (metrics), and what many runs add up to (rows,
// ratios, winners, and whether more are needed).
//
// It runs nothing, predicts nothing and draws nothing.
//
// Its trap: a world only reports. Every judgement is made here, from facts that are
// kept with the result, so that it can be made again.
package outcome
