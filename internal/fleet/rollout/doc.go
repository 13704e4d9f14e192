// Package rollout brings one PoP's plans to its hosts: to one host first (the canary), then to a
// share of the PoP, then to all, each stage only when every host of the one before has read the
// plan back from its kernel. It takes a plan back by itself. docs/fleet.md is the same in words.
//
// It has no clock, no stream and no store, and parses no plan: [Rollout.Step] takes an event with
// its time and returns orders, which the caller carries out after it has stored [Rollout.State].
//
// Its trap: a roll-back goes forward. Agents refuse a serial older than what they have, so the old
// content needs a new plan, and between the order [OrderWrite] and the offer that answers it, hosts
// that may hold the failed plan are left as they are.
package rollout
