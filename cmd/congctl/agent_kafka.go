//go:build !small

package main

import (
	"github.com/congctl/congctl/internal/fleet/store/kafka"
	"github.com/congctl/congctl/internal/fleet/uplink"
)

func (u *fleetAgent) kafkaSink() (uplink.Sink, error) {
	topic, err := topicOf("fleet.kafka", u.cfg.Fleet.Kafka)
	if err != nil {
		return nil, usage(err)
	}
	p, err := kafka.NewProducer(topic, u.self.PoP, signs(u.creds))
	if err == nil {
		u.later(func() error { p.Close(); return nil })
	}
	return p, err
}
