// Package batchlog keeps batches of records on disk, in the order they came: a directory of segments, each a
// records file of loop/store/wire. It is an agent's spool while the far side is away; at its bound the oldest
// segment makes room.
//
// It looks at a batch no closer than to count its records, and it knows no sender: finding repeats is the receiver's
// task.
//
// Its trap: a batch counts as delivered only when [Log.Delivered] says so, and a crash between sending it and
// saying so sends it again. The receiver must count a (boot id, sequence) once.
package batchlog
