// Package comparison makes from what a host keeps (window rows, goodput rows, who was
// chosen when) the pairs and samples that core/effect judges, and collects the answers
// in one [Report].
//
// It is not the statistics (core/effect) and not the policy: nobody is promoted by it.
//
// Its trap: a block in which a network came in, left or changed its state has no
// known chance of being treated, and counts nowhere.
package comparison
