// Package clickhouse keeps the fleet's connection records in ClickHouse: its schema, with
// migrations; batches in; the records of one window out.
//
// It decides by nothing that it aggregates: window.Aggregator makes the rows of what Conns reads, in the
// same order as from files, so both give the same figures to the last digit. The view windows is for people.
// It also reads no Kafka.
//
// A batch comes at least once and counts once: (boot_id, sequence) names it, and with the index in
// it a record. All three are at the end of the sorting key, so ClickHouse itself collapses repeats
// as it merges, and Conns, which reads in the key's order, skips what it has not merged yet: there a
// repeat follows its original. Nothing is looked up before an insert. So it does not matter
// where an inserter died, how many insert the same at once, or which part of a batch arrived before:
// the next delivery completes it.
//
// Its trap: SQL of your own sees repeats until they are merged: write FROM conn_records FINAL.
package clickhouse
