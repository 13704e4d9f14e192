// Package numbers has tests only: they compare the protobuf contract with every number, name and type that it ever shipped
// (numbers.txt).
//
// It is not the contract, and does not import the code generated from it: where a changed field does not even compile, these
// tests still say which one it was.
//
// Its trap: numbers.txt is the memory. A change there, other than lines at its end, needs the same reasons as one on the wire.
package numbers
