// Package report turns the results of a lab run into a folder, and the folder into
// something to read: tables, plots, comma-separated values, JSON lines.
//
// It judges nothing: gates, intervals, winners and theory come from core; here they
// are written down, sorted, and drawn.
//
// Its trap: every file but wall.json is the same, byte for byte, for the same input.
// Nothing here may look at a clock, a map's order, or the path of the folder.
package report
