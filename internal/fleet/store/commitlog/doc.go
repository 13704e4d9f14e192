// Package commitlog keeps what a PoP's controllers decide, one after the other: each commit is in a log that
// they share before it is in the store of the one that decided. The next one reads the log and goes on
// from the same windows, rounds, plans and settings.
//
// It is not the log (fleet/store/kafka has one) and not the store (loop/store/sqlite), and it does not choose who
// decides.
//
// Its trap: after an error of the log nothing is known. The commit may be there, or another
// controller may have taken the PoP. So the store refuses every later commit, and its owner takes the PoP again.
package commitlog
