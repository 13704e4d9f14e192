// Package theory predicts the goodput of a cell of the lab, and judges measurements by it:
// the physical bound, the band of a model, a verdict in words.
//
// It has no models of its own (lab/theory/model) and sees no run: a prediction depends on
// the cell alone.
//
// Its trap: "no model" is no excuse for a number above the bound. Physics holds for
// every cell, and Verdict checks it first.
package theory
