// Package published has the tables of four articles that compared CUBIC with BBR, or
// limited a link, on networks that nobody can rebuild; it sets the lab's own results
// beside them and says whether their shape holds.
//
// It is no judge of who is right: an article's number is one run, or the mean of three.
//
// Its trap: ours are scaled. The lab's links are a tenth of theirs where the virtual
// machine could not carry them, so that a ratio near one means as much as an equal
// share of the link, and no more.
package published
