// Package controller turns windows into decisions and plans: it runs the policy
// engine at the end of each window, writes window, decision and plan into the
// store in one commit, and hands the signed plan to the agent.
//
// It measures nothing and touches no kernel. The rules are loop/policy's.
//
// Its trap: the store comes first, the kernel second. A crash between the two leaves a
// decision that is not yet in force, which the restart repairs; the other order would
// leave a treatment that no record explains.
package controller
