// Package window adds connection records up to one [record.Window] row for each
// prefix, window, arm and congestion control.
//
// It stores nothing, ranks no prefix and decides nothing; it does not join polls
// and closes either (that is package ledger), so every record counts once.
//
// What comes out does not depend on the order of what goes in, the choice of
// samples in a crowded row included. The one exception is its trap: when there are
// more prefixes than MaxPrefixes, those with the fewest bytes *so far* make room,
// and one that is pushed out and comes back starts again from nothing.
package window
