// Package controller turns windows into decisions and plans: it runs the policy
// engine at the end of each window, writes window, decision and plan into the
// store in one commit, and hands the signed plan to the agent.
//
// It measures nothing and touches no kernel. The rules are core/policy's.
//
// Its trap: the order is store first, kernel second. A crash between the two
// leaves a decision that is not yet in force, which the restart mends; the other
// order would leave a treatment that nobody can explain.
package controller
