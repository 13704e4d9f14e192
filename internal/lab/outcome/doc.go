// Package outcome is what one run of a cell saw (Run: facts only), whether that is valid
// (gates), the numbers (metrics), and the sum of many runs (rows, ratios, winners, and
// whether more are needed).
//
// It runs nothing, predicts nothing and draws no figure.
//
// Its trap: a world only reports. Every judgement is made here, from facts kept with the
// result, so that it can be made again.
package outcome
