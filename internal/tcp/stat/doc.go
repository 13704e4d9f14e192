// Package stat has the few statistics that decisions rest on: the type-7
// quantile, plain and weighted, and the weighted mean; intervals of a median, a ratio
// and a share; Student's t; the fairness index.
//
// It is not a statistics library: a function comes when something uses it.
//
// Its trap: NaN. An empty input, a fraction outside 0..1 and a NaN among the values all give
// NaN, and NaN compares false with everything: code that writes "x <= Quantile(...)" gets
// "no", never "yes", from a broken input.
package stat
