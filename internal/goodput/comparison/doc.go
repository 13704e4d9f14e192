// Package comparison turns what a host keeps (window rows, goodput rows, the selection over
// time) into the pairs and samples that loop/effect judges, and collects the answers in one
// [Report].
//
// It is not the statistics (loop/effect) and not the policy: it promotes no network.
//
// Its trap: a block in which a network came in, left or changed its state has no known
// probability of treatment, and does not count.
package comparison
