// Package pop describes a day of a point of presence for the lab: client networks with their
// paths, what their clients request and when, how paths change, what goes wrong. It reads
// the file (strict YAML) and expands it with a seed into a World.
//
// It runs nothing and knows no kernel: popday/kernel/popworld builds the World.
//
// Its trap: the seed decides the requests and their times, and nothing else may. Two
// policies are compared on the same World, so a draw that depends on the network's
// performance would make them two experiments.
package pop
