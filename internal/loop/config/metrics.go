package config

import (
	"cmp"
	"net"

	"github.com/congctl/congctl/internal/strict"
)

// Metrics is the listener for metrics and health.
type Metrics struct {
	Listen   string `yaml:"listen"`   // address and port; "": the verb's own port on loopback; "off"
	Networks string `yaml:"networks"` // "none" or "treated": which networks have metrics of their own
	// Dashboard "on" or "off": a page for browsers (docs/dashboard.md), which anybody who reaches the port may read.
	Dashboard string `yaml:"dashboard"`
	PProf     bool   `yaml:"pprof"` // also serve profiles of the process
}

// Values of Metrics.Listen and Metrics.Networks.
const (
	MetricsOff      = "off"
	DashboardOn     = "on"
	DashboardOff    = "off"
	NetworksNone    = "none"
	NetworksTreated = "treated"
)

// Address returns where to listen, own where the file says nothing; "" is nowhere.
func (m Metrics) Address(own string) string {
	if m.Listen == MetricsOff {
		return ""
	}
	return cmp.Or(m.Listen, own)
}

func (c Config) checkMetrics(fs *strict.Faults) {
	listen := c.Metrics.Listen
	if _, port, err := net.SplitHostPort(listen); listen != "" && listen != MetricsOff && (err != nil || port == "") {
		fs.Add("metrics.listen", listen, "not an address with a port", "write 127.0.0.1:9477, or off")
	}
	oneOf(fs, "metrics.dashboard", c.Metrics.Dashboard, DashboardOn, DashboardOff)
	oneOf(fs, "metrics.networks", c.Metrics.Networks, NetworksNone, NetworksTreated)
}
