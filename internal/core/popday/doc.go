// Package popday compares runs of one day of a point of presence under several
// policies: goodput and its cost, what the loop did and when, what its randomised
// blocks say beside the truth that the other runs know, and a verdict for each promise.
//
// It reads no folder and draws nothing: app/popreport does.
//
// Its trap: runs of one seed are asked for the same at the same times, and nothing
// else is alike in them. A response is compared with the one of the same session and
// request, never with "the other run's" at about that time.
package popday
