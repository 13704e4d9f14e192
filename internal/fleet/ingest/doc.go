// Package ingest moves batches from a queue into a store: it collects what comes, inserts it at once,
// and says only then that it is done.
//
// It is neither the queue nor the store, and knows no format: both are interfaces, and a message is
// bytes that the store takes or refuses.
//
// Its trap: it may insert the same twice, after a crash between insert and commit and whenever a
// second ingest takes over. A store that counts a repeat is the wrong store.
package ingest
