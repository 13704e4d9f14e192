// Package arch holds the tests of the repository's own shape: who may import
// whom, what core may not touch, how long a file or a function may be, what a
// package must say about itself, and which words do not belong in the tree.
//
// It is not a linter for style: gofmt, go vet and the reviewer do that.
//
// Its trap: a rule that finds nothing proves nothing. Each rule therefore
// carries planted faults that it must find and a clean sample that it must pass.
package arch
