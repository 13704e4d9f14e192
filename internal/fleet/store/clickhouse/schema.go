package clickhouse

import (
	"fmt"
	"slices"
	"strings"
)

// features are what a server can do; the shipped schema is for those of today, and runs without
// them on the 18.16 that Debian 12 has. Between 18.16 and 26.5 no version was tried.
type features struct {
	low    bool // LowCardinality without asking for it as an experiment
	codecs bool
}

func featuresOf(major int) features { return features{low: major >= 20, codecs: major >= 20} }

// step is one change of the schema. What it runs can run twice: two processes may migrate at once,
// and one may die in the middle. The slower of two fails where the other has dropped conns, and then has nothing left to do.
type step struct {
	what string
	sql  func(features) []string
}

// steps lead from nothing to this build's schema; the version of a schema is how many it has. A
// step that was released never changes. A new field of a record needs none: Migrate adds the
// columns that conns lacks.
var steps = []step{
	{"tables of connection records and of the ends of windows", func(can features) []string {
		return []string{createConns(can), createEnds(can)}
	}},
	{"nothing: a later step makes the view of windows", func(features) []string { return nil }},
	{"table of records that is half as large", func(can features) []string {
		return []string{refuseConns, createRecords(can), copyConns(can)}
	}},
	{"no view of windows of the table before, which goes", func(features) []string {
		return append(dropWindows(), "DROP TABLE IF EXISTS conns")
	}},
	{"view of windows, in whose goodput the last packets of a response do not count", func(features) []string {
		return append(dropWindows(), createWindows()...)
	}},
}

// records is the table of connection records, since version inRecords; before, conns was.
const records, inRecords = "records", 3

// createRecords has the key of conns. With the network in it a server takes half as much time again: rows that come in
// another order are sorted, and merged one by one.
func createRecords(can features) string {
	var defs []string
	for _, d := range recordColumns(can) {
		defs = append(defs, d.sql)
	}
	return createTable(records, defs, "intDiv(window, 86400)", "pop, window, boot_id, sequence, in_batch")
}

// definition is a column's part of a statement.
type definition struct{ name, sql string }

// recordColumns are those stored, then those that follow from them.
func recordColumns(can features) (list []definition) {
	for _, c := range new(row).stored() {
		list = append(list, definition{c.name(), define(c, can)})
	}
	for _, c := range new(row).columns() {
		if d := derivationOf(c.name()); d != nil {
			list = append(list, definition{c.name(), d.alias(c)})
		}
	}
	return list
}

// refuseConns has a server refuse what an ingest of an older build inserts, which then waits: after the copy it would be
// lost. What is there stays.
const refuseConns = "ALTER TABLE conns MODIFY COLUMN cookie UInt64 MATERIALIZED 0"

// connColumns are those of conns.
func connColumns(can features) (list []definition) {
	for _, c := range new(row).columns() {
		list = append(list, definition{c.name(), define(c, can)})
	}
	return list
}

// copyConns may run twice, since a record counts once. The columns of conns are those of a record. Current servers refuse
// a block of more than a hundred days unless told otherwise.
func copyConns(can features) string {
	var list []string
	for _, c := range new(row).columns() {
		if d := derivationOf(c.name()); d != nil {
			list = append(list, d.parts(c)...)
			continue
		}
		list = append(list, "`"+c.name()+"`")
	}
	sql := "INSERT INTO " + records + " (" + names(new(row).stored()) + ") SELECT " + strings.Join(list, ", ") + " FROM conns"
	if can.codecs {
		sql += " SETTINGS max_partitions_per_insert_block = 0"
	}
	return sql
}

// createConns partitions by the day of the window (its number since 1970, so that no server's time
// zone moves a border): retention drops whole days. The key's last three name the record, which
// collapses repeats; see the package's comment.
func createConns(can features) string {
	return create("conns", new(row).columns(), can, "intDiv(window, 86400)", "pop, window, boot_id, sequence, in_batch")
}

// createEnds has one row for each host and window that it sent to the end.
func createEnds(can features) string {
	return create("window_ends", new(endRow).columns(), can, "intDiv(start, 86400)", "pop, start, boot_id, sequence")
}

func create(table string, columns []column, can features, partition, key string) string {
	var defs []string
	for _, c := range columns {
		defs = append(defs, define(c, can))
	}
	return createTable(table, defs, partition, key)
}

func createTable(table string, defs []string, partition, key string) string {
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (\n%s\n) ENGINE = ReplacingMergeTree\nPARTITION BY %s\nORDER BY (%s)",
		table, strings.Join(defs, ",\n"), partition, key)
}

// define is a column's part of a definition.
func define(c column, can features) string {
	kind := c.kind()
	if c.few() && can.low {
		kind = "LowCardinality(" + kind + ")"
	}
	if can.codecs {
		kind += " CODEC(" + codec(c) + ")"
	}
	return fmt.Sprintf("`%s` %s", c.name(), kind)
}

// codec: T64 drops the bits that no value of 64 has, which is most of a counter's. Neighbours
// have nothing else in common, except in the key, and figures of the same path, which repeat.
func codec(c column) string {
	switch kind := c.kind(); {
	case c.name() == "at_ns":
		return "Delta, T64, ZSTD(1)" // rows come in the order of time
	case c.name() == "in_batch" || c.name() == "sequence":
		return "Delta, ZSTD(1)"
	case slices.Contains(repeated, c.name()):
		return "ZSTD(1)"
	case strings.HasPrefix(kind, "UInt") || strings.HasPrefix(kind, "Int"):
		return "T64, ZSTD(1)"
	}
	return "ZSTD(1)"
}

// repeated are integers whose values come again: T64 would take them apart.
var repeated = []string{"prefix", "info_snd_ssthresh_segs", "win_bytes_retrans"}
