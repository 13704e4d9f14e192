//go:build small

package main

import (
	"context"
	"errors"

	"github.com/congctl/congctl/internal/fleet/uplink"
)

// The small build (docs/install.md) is for devices that treat their own clients or are hosts of
// a fleet: no verb of a fleet's servers, none of the laboratory.
var (
	fleetVerbs            = []newVerb{newAgent, newFleet}
	labVerbs, kernelVerbs []newVerb
	screenVerbs           []newVerb
)

func asGuest() {}

func (u *up) openPage(context.Context) error       { return nil }
func (u *up) serveDashboard(context.Context) error { return nil }

func (u *fleetAgent) kafkaSink() (uplink.Sink, error) {
	return nil, usage(errors.New("fleet.kafka: this is the small build, which has no Kafka client: leave it out, and records go to the controller"))
}

func openASN(string) (asnOf, error) {
	return nil, errors.New("this is the small build, which reads no database of autonomous systems: write a file of networks, names.networks")
}
