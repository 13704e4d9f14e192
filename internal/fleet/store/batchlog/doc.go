// Package batchlog keeps batches of records on disk, in the order they came: a directory of segments, each a
// records file of loop/store/wire. It is an agent's spool while the far side is away (Append, Next, Delivered;
// the oldest segment makes room) and a controller's inbox of one window (Append, Sync, Each, Remove; a full one
// refuses).
//
// It looks at a batch no closer than to count its records, and it knows no sender: who sent what twice is the
// receiver's question.
//
// Its trap: a batch counts as delivered only when [Log.Delivered] says so, and a crash between sending it and
// saying so sends it again. Whoever receives must count a (boot id, sequence) once.
package batchlog
