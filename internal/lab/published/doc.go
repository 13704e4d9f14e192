// Package published has the tables of four articles that compared CUBIC with BBR, or limited
// a link, on networks that cannot be rebuilt; it compares the lab's own results with them
// and reports whether their shape holds.
//
// It does not judge who is right: an article's number is one run, or the mean of three.
//
// Its trap: ours are scaled. The lab's links are a tenth of theirs where the virtual machine
// could not carry them, so a ratio near one means an equal share of the link, and no more.
package published
