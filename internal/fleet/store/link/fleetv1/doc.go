// Package fleetv1 is generated from proto/congctl/v1/fleet.proto: the messages between agents and
// their controller, and Connect's client and handler of them.
//
// It is not to be edited: proto/generate.sh writes it.
//
// Its trap: its types say nothing of who sent them. Use fleet/store/link, which knows.
package fleetv1
