// Package effects answers `congctl effect`: it feeds goodput/comparison from the stores
// and turns the report into what people and programs read.
//
// It is not an estimator, and it changes nothing.
//
// Its trap: without "--label" the answer is that of an experiment, with it a before/after
// comparison. The second is confounded with everything else that changed, and says so.
package effects
