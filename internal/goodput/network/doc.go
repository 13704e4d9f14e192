// Package network names the groups of traffic: client networks by operator ("one ISP over all
// PoPs"), and the server's names and addresses by tenant.
//
// It reads no files (goodput/names does) and asks no registry.
//
// Its trap: the unit is the client prefix (/24, /56). A narrower named network could hold one half of
// a client prefix and not the other, so it is refused.
package network
