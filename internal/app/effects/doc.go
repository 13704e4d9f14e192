// Package effects answers `congctl effect`: it feeds core/comparison from the stores
// and turns the report into what people and programs read.
//
// It is not an estimator, and it changes nothing.
//
// Its trap: without "--label" the answer is of an experiment, with it of a before and
// an after. The second is confounded with all else that changed, and says so.
package effects
