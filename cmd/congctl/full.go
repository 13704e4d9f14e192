//go:build !small

package main

import (
	"github.com/congctl/congctl/internal/goodput/store/asn"
	"github.com/congctl/congctl/internal/lab/kernel/guest"
)

// What the small build leaves out.
var (
	fleetVerbs = []newVerb{newAgent, newControllerVerb, newFleet, newToken, newIngest, newStore}
	labVerbs   = []newVerb{newLab, newSimulate}
	// With the library that draws it: 2 MB.
	screenVerbs = []newVerb{newTop}
	// Those of host kernel that are for the machine that builds a kernel.
	kernelVerbs = []newVerb{newHostKernelFragment}
)

// asGuest is this process's whole life in a machine that `lab run` started.
func asGuest() {
	if guest.IsGuest() {
		guest.Main(runGuestJob)
	}
}

func openASN(path string) (asnOf, error) { return asn.Open(path) }
