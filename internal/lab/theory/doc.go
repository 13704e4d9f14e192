// Package theory predicts what a cell of the lab can give, and judges what was measured
// by it: the physical bound, the band of a model, a verdict in words.
//
// It has no models of its own (core/theory/model) and sees no run: a prediction is of
// the cell alone.
//
// Its trap: "no model" is no excuse for a number above the bound. Physics holds for
// every cell, and Verdict checks it first.
package theory
