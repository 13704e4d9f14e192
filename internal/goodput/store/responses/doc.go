// Package responses keeps goodput rows: one file of JSON lines for each day, to which
// lines are only added, readable with any tool.
//
// It is not the store of decisions (loop/store/sqlite): losing it loses no decision.
//
// Its trap: a file's day is that on which a window was settled. A row of a response
// that took hours belongs to a window of the day before.
package responses
