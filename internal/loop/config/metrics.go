package config

import (
	"cmp"
	"net"
	"net/netip"
	"strings"

	"github.com/congctl/congctl/internal/strict"
)

// Metrics is the listener for metrics and health.
type Metrics struct {
	Listen   string `yaml:"listen"`   // address and port; "": the verb's own port on loopback; "off"
	Networks string `yaml:"networks"` // "none" or "treated": which networks have metrics of their own
	// Dashboard is a page for browsers (docs/dashboard.md): "on", which anybody who reaches the port may read, "token",
	// which takes one, or "off".
	Dashboard       string `yaml:"dashboard"`
	DashboardListen string `yaml:"dashboard_listen"` // address and port; "": that of the metrics, if it is loopback's
	PProf           bool   `yaml:"pprof"`            // also serve profiles of the process
}

// Values of Metrics.Listen and Metrics.Networks.
const (
	MetricsOff      = "off"
	DashboardOn     = "on"
	DashboardToken  = "token"
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

// Page returns where the dashboard listens; "" is nowhere. It names client networks, and so shares the metrics' port on
// loopback only, unless the file says otherwise.
func (m Metrics) Page(own string) string {
	address := m.Address(own)
	switch {
	case m.Dashboard == DashboardOff:
		return ""
	case m.DashboardListen == "" && !loopback(address):
		return ""
	}
	return cmp.Or(m.DashboardListen, address)
}

// loopback reports whether no other host reaches an address; of a name but localhost it is not known.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.Unmap().IsLoopback()
}

func (c Config) checkMetrics(fs *strict.Faults) {
	m := c.Metrics
	if m.Listen != MetricsOff {
		checkListen(fs, "metrics.listen", m.Listen, "write 127.0.0.1:9477, or off")
	}
	checkListen(fs, "metrics.dashboard_listen", m.DashboardListen, "write 127.0.0.1:9480, or metrics.dashboard: off")
	oneOf(fs, "metrics.dashboard", m.Dashboard, DashboardOn, DashboardToken, DashboardOff)
	if m.Dashboard == DashboardToken && m.DashboardListen != "" && !loopback(m.DashboardListen) {
		fs.Add("metrics.dashboard_listen", m.DashboardListen, "a token would go over the network in clear", "write 127.0.0.1:9480, and put a proxy with TLS on this host before it")
	}
	oneOf(fs, "metrics.networks", m.Networks, NetworksNone, NetworksTreated)
}

func checkListen(fs *strict.Faults, key, address, fix string) {
	if _, port, err := net.SplitHostPort(address); address != "" && (err != nil || port == "") {
		fs.Add(key, address, "not an address with a port", fix)
	}
}
