//go:build !small

package main

import (
	"context"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/linux/process"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/top"
)

// BenchmarkTop reports what one renewal of `congctl top` costs its process, with a dump of 10,000 connections and an
// answer about 5,000 networks: what it asks, joins and writes to the screen. Every 2 s by default.
func BenchmarkTop(b *testing.B) {
	cfg := quickSettings()
	cfg.Window, cfg.Poll, cfg.Expiry = "4s", "4s", "1m"
	e := newEdge(b, cfg)
	check(b, wideNetworks())
	fast(b)
	e.prime(20_000)
	e.start()
	g := &global{configPath: e.configPath(), timeout: patience}
	c, err := g.config()
	check(b, err)
	s := &topScreen{source: &topSource{g: g, netns: "own"}, view: g.client(c), ctx: context.Background(), every: time.Second, model: top.New(top.Options{Host: true, Every: time.Second})}
	s.model.Resize(120, 40)
	e.awaitStatus("the crowd", func(s control.Status) bool { return s.Agent.Ledger.Live >= 20_000 })
	was, err := process.Used()
	check(b, err)
	for b.Loop() {
		for _, ask := range []func() any{func() any { return s.ask() }, func() any { return s.dump() }} {
			s.Update(ask())
			s.View()
		}
	}
	now, err := process.Used()
	check(b, err)
	b.ReportMetric(1e3*(now.CPUSeconds-was.CPUSeconds)/float64(b.N), "cpu-ms/op")
}
