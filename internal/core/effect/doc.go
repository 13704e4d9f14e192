// Package effect tells what a treatment did: pairs of treatment and control blocks
// of one prefix, evidence that may be looked at as often as one likes, false-discovery
// control, and pooled estimates with intervals that say how they were made.
//
// It is not the policy: it promotes and demotes nobody, it only says what is known.
//
// Its trap: a pair is made of both arms of one prefix and one group of blocks. Joining
// arms over prefixes or groups first compares slow prefixes with fast ones, because
// the share of treatment blocks follows from a prefix's state.
package effect
