// Package uplink brings an agent's records to whoever decides for its PoP: it thins them to a budget, makes
// batches, keeps them in a spool on disk, and sends them from there, again and again until they are taken.
//
// It is not a transport, and it neither compresses nor codes: interfaces that it declares do. Whether a batch came
// twice is the receiver's question: delivery is at least once.
//
// Its trap: a batch's name is (boot id, sequence) for ever, and an agent can start twice in one boot. The first
// sequence of a start must be above all of earlier ones, or the receiver takes new batches for repeated ones; the
// milliseconds since boot are.
package uplink
