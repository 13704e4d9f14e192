// Package effect measures what a treatment did: pairs of treatment and control blocks of one
// prefix, evidence that may be looked at as often as one likes, false-discovery control, and
// pooled estimates with intervals and the method behind them.
//
// It is not the policy: it neither promotes nor demotes, it only reports what is known.
//
// Its trap: a pair is made of both arms of one prefix and one group of blocks. Joining arms
// over prefixes or groups first compares slow prefixes with fast ones, because the share of
// treatment blocks depends on a prefix's state.
package effect
