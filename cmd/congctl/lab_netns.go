//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/lab"
	"github.com/congctl/congctl/internal/lab/kernel/world"
	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/report"
)

// netnsWorld adapts lab/kernel/world to the lab: cells run on this kernel.
type netnsWorld struct{}

var _ lab.World = netnsWorld{}

func (p *labPlace) openNetns(m *report.Manifest) (site labSite, err error) {
	if p.image != "" || p.modules != "" {
		return site, errors.New("--kernel, --modules: --world netns runs on this host's own kernel; leave them out, or use --world vm")
	}
	if site.cpus, err = p.slots("--jobs", 1, "cells in real time would disturb each other"); err != nil {
		return site, err
	}
	s, err := lab.Scenario(m)
	if err != nil {
		return site, err
	}
	if missing := world.Missing(s.Cells); len(missing) > 0 {
		return site, fmt.Errorf("--world netns: this kernel lacks what these cells are made of; --world vm needs none of it\n  %s", strings.Join(missing, "\n  "))
	}
	m.Kernel = report.Kernel{Release: world.Release(), Source: "this host"}
	site.world = netnsWorld{}
	return site, nil
}

func (netnsWorld) Run(ctx context.Context, job lab.Job) (outcome.Run, lab.Facts, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, job.Limit, fmt.Errorf("hung: ended after %s", job.Limit))
	defer cancel()
	began := time.Now()
	run, err := world.Run(ctx, job.Cell, job.Seed, world.Options{Progress: job.Progress})
	run.World = worldNetns
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return run, lab.Facts{Virtual: time.Since(began)}, err
}
