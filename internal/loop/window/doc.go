// Package window adds connection records up to one [record.Window] row for each prefix,
// window, arm and congestion control.
//
// It stores nothing, ranks no prefix and decides nothing; nor does it join polls and closes
// (package ledger does), so every record counts once.
//
// A record that a sender thinned out to (record.Conn.Times) counts as often as it says in every sum, quantile and mean,
// so that figures have the expectation that they have without thinning. Eligible, RateMeans and LateConns do not: they
// say how much is known, so that noise is judged by what was measured.
//
// The result does not depend on the order of the input, nor does the choice of samples in a
// crowded row. The one exception is its trap: with more prefixes than MaxPrefixes, those with
// the fewest bytes *so far* make room, and a prefix that comes back starts again from nothing.
package window
