// Package popreport reads a folder of runs of a point of presence's day, has popday
// compare them, and writes the result: a page, a text and JSON.
//
// It compares nothing itself and runs nothing.
//
// Its trap: a report must be the same byte for byte when it is made again, so nothing in it
// may come from a clock, a map's order or the folder's path.
package popreport
