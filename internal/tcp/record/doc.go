// Package record holds the nouns that every capability shares: a client [Prefix], a
// connection's [Conn] record, a per-prefix [Window], the [Arm] a connection was
// given and the one that was [Applied].
//
// It is not a store, a codec or a policy: it has no behaviour beyond parsing,
// printing and comparing its own values.
//
// Its trap: Conn and Window carry *deltas* of a window beside *lifetime* values.
// A field is a delta only when its name starts with Win.
package record
