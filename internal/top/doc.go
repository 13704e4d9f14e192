// Package top is the screen of `congctl top`: which rows it shows in which order, and how
// they fit. It is a function of answers, keys, a size and a time, so that a test can look at any screen.
//
// It is no terminal and asks nothing: cmd/congctl/top.go brings answers and shows lines.
//
// Its trap: a text of an answer is foreign. It reaches a line only through clean, which leaves
// nothing that a terminal would act on and no character of unknown width.
package top
