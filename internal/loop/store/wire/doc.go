// Package wire converts connection records to the bytes of proto/congctl/v1 and back, and
// keeps them in records files.
//
// It is not a transport and not a store that can be searched; the generated
// code in congctlv1 is the contract, this package maps records to it.
//
// Its trap: [Decode] fills the same Conn again and again, and an address in it is what the
// writer's "addresses" rule left: a Remote with port 0 is a client network, not a client.
package wire
