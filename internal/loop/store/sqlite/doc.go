// Package sqlite is the store of one host: closed windows, decision rounds,
// events with their evidence, plans and a few settings, in one SQLite file.
//
// It is not a cache of the open window (the agent's memory has that), not a queue, and it
// decides nothing: it keeps rows and returns them.
//
// Its trap: a POSIX file lock is dropped when *any* descriptor of the file is closed in
// the same process, so code that opens the store's file by itself (to copy or to hash it)
// can strip the locks of an open [Store]. Open requests open-file-description locks, which
// do not have that flaw, but a file system may refuse them: copy a store with "VACUUM
// INTO", never with os.Open.
package sqlite
