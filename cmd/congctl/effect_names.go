package main

import (
	"errors"
	"fmt"

	"github.com/congctl/congctl/internal/goodput/comparison"
	"github.com/congctl/congctl/internal/goodput/names"
	"github.com/congctl/congctl/internal/goodput/network"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// groupingOf opens what --by needs; done closes it.
func groupingOf(cfg config.Config, by string, b *comparison.Builder) (g comparison.Grouping, done func() error, err error) {
	done = func() error { return nil }
	switch by {
	case "class":
		g.Of = b.Class
	case "tenant":
		g.Tenants = true
		if cfg.Names.Tenants == "" {
			return g, done, usage(errors.New("--by tenant: no tenants are named; set names.tenants in the configuration"))
		}
	case "network":
		g.Of, done, err = namesOf(cfg)
	}
	return g, done, err
}

// named are names by a function.
type named func(record.Prefix) string

func (of named) Of(p record.Prefix) string { return of(p) }

// withNames adds the names that selection by benefit pools trials by, if any are configured; done
// closes them. A reload may turn to that selection, so they are read for the other one too, where
// it does not matter if they can't be.
func withNames(o controller.Options, cfg config.Config) (controller.Options, func() error, error) {
	none := func() error { return nil }
	if cfg.Names.Networks == "" && cfg.Names.ASN == "" {
		return o, none, nil
	}
	of, done, err := namesOf(cfg)
	if err != nil && o.Rules.Select != policy.SelectBenefit {
		return o, none, nil
	}
	if err == nil {
		o.Networks = named(of)
	}
	return o, done, err
}

// asnOf names a network by its autonomous system.
type asnOf interface {
	Of(record.Prefix) string
	Close() error
}

// namesOf looks in the file of networks first, then in the database of autonomous systems.
func namesOf(cfg config.Config) (of func(record.Prefix) string, done func() error, err error) {
	done = func() error { return nil }
	if cfg.Names.Networks == "" && cfg.Names.ASN == "" {
		return nil, done, usage(errors.New("--by network: no networks are named; set names.networks or names.asn in the configuration"))
	}
	var table *network.Table
	if cfg.Names.Networks != "" {
		if table, err = names.ReadNetworks(cfg.Names.Networks); err != nil {
			return nil, done, usage(fmt.Errorf("names.networks: %w", err))
		}
	}
	if cfg.Names.ASN == "" {
		return table.Of, done, nil
	}
	db, err := openASN(cfg.Names.ASN)
	if err != nil {
		return nil, done, usage(fmt.Errorf("names.asn: %w", err))
	}
	return func(p record.Prefix) string {
		if name := table.Of(p); name != "" {
			return name
		}
		return db.Of(p)
	}, db.Close, nil
}
