package network

import (
	"net/netip"
	"slices"
	"strings"
)

// Tenant is one customer of a server: requests for these hosts, at these addresses, on these ports. An
// empty list matches everything; a response must match every list.
type Tenant struct {
	Name      string
	Hosts     []string // "www.example", or "*.example" for all names below it
	Addresses []netip.Addr
	Ports     []uint16
}

// Tenants are tried in order: the first match has the response.
type Tenants []Tenant

// Of returns the tenant of a response or a connection; "" for none. If the host is unknown (a
// connection's record has none) a tenant with hosts does not match.
func (ts Tenants) Of(host string, server netip.AddrPort) string {
	host = hostOnly(host)
	for i := range ts {
		if ts[i].fits(host, server) {
			return ts[i].Name
		}
	}
	return ""
}

func (t *Tenant) fits(host string, server netip.AddrPort) bool {
	return (len(t.Ports) == 0 || slices.Contains(t.Ports, server.Port())) &&
		(len(t.Addresses) == 0 || slices.Contains(t.Addresses, server.Addr().Unmap())) &&
		(len(t.Hosts) == 0 || slices.ContainsFunc(t.Hosts, func(h string) bool { return hostFits(h, host) }))
}

// hostFits compares a rule with a host in lower case.
func hostFits(rule, host string) bool {
	if below, ok := strings.CutPrefix(rule, "*"); ok {
		return len(host) > len(below) && strings.HasSuffix(host, below)
	}
	return rule == host
}

// hostOnly returns a Host header without port and final dot, in lower case.
func hostOnly(h string) string {
	if i := strings.LastIndexByte(h, ':'); i >= 0 && !strings.HasSuffix(h, "]") {
		h = h[:i]
	}
	return strings.ToLower(strings.TrimSuffix(h, "."))
}

// CheckHost returns what is wrong with a rule for hosts; "" for nothing.
func CheckHost(rule string) (problem, fix string) {
	name := strings.TrimPrefix(rule, "*.")
	switch {
	case name == "" || strings.ContainsAny(name, "* \t/:"):
		return "not a host name", "write www.example, or *.example for all names below it"
	case name != strings.ToLower(name):
		return "upper case", "write " + strings.ToLower(rule)
	case strings.HasSuffix(name, "."):
		return "ends in a dot", "write " + strings.TrimSuffix(rule, ".")
	}
	return "", ""
}
