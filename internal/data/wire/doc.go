// Package wire turns connection records into the bytes of proto/congctl/v1 and
// back, and keeps them in records files.
//
// It is not a transport and not a store that can be searched; the generated
// code in congctlv1 is the contract, this package is its fast path.
//
// Its trap: [Decode] fills the Conn it is given again and again, and what it
// reads of an address is what the writer's "addresses" rule left: a Remote with
// port 0 is a client network, not a client.
package wire
