// Package network gives names to what traffic is grouped by: client networks to
// operators ("one ISP over all PoPs"), and what the server answers for to tenants.
//
// It reads no files (app/networks does) and asks no registry.
//
// Its trap: the unit is the client prefix (/24, /56). A named network narrower than
// that could hold one half of a client prefix and not the other, so it is refused.
package network
