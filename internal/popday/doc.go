// Package popday compares runs of one day of a point of presence under several policies:
// goodput and its cost, what the loop did and when, what its randomised blocks say beside
// the truth from the other runs, and whether the loop does what the day's file expects.
//
// It reads no folder and draws no figure: popday/popreport does.
//
// Its trap: runs of one seed get the same requests at the same times, and nothing else in
// them is alike. Compare a response with the one of the same session and request, never
// with "the other run's" at about that time.
package popday
