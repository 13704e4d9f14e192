// Package pop describes a day of a point of presence for the lab: client networks with
// their paths, what their clients ask for and when, how paths change, what goes wrong.
// It reads the file (strict YAML) and expands it with a seed into a World.
//
// It runs nothing and knows no kernel: kernel/pop builds what a World says.
//
// Its trap: the seed decides who asks for what and when, and nothing else may. Two
// policies are compared on the same World, so a draw that depends on how the network
// did would make them two experiments.
package pop
