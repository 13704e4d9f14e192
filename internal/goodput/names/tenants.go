package names

import (
	"fmt"
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/congctl/congctl/internal/goodput/network"
	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// ReadTenants reads a file of tenants.
func ReadTenants(name string) (network.Tenants, error) {
	text, err := plainfile.Read(name, maxFile)
	if err != nil {
		return nil, err
	}
	ts, err := ParseTenants(text)
	if err != nil {
		return nil, fmt.Errorf("read tenants %s:\n%w", name, err)
	}
	return ts, nil
}

// ParseTenants reads "name: {hosts: [...], addresses: [...], ports: [...]}" entries.
// The error is a [strict.Faults].
func ParseTenants(text []byte) (network.Tenants, error) {
	r := &reader{}
	var ts network.Tenants
	r.entries(text, "tenants", func(name string, key, value *yaml.Node) {
		t := network.Tenant{Name: name}
		before := len(r.faults)
		r.mapping(value, name, func(part string, key, value *yaml.Node) {
			r.part(&t, name+"."+part, part, key, value)
		})
		if len(r.faults) == before && len(t.Hosts)+len(t.Addresses)+len(t.Ports) == 0 {
			r.fault(key, name, "empty: every response would match this tenant", "give it hosts, addresses or ports")
		}
		ts = append(ts, t)
	})
	if err := r.faults.Err(); err != nil {
		return nil, err
	}
	return ts, nil
}

func (r *reader) part(t *network.Tenant, field, part string, key, value *yaml.Node) {
	switch part {
	case "hosts":
		r.list(value, field, func(n *yaml.Node) {
			if problem, fix := network.CheckHost(n.Value); problem != "" {
				r.fault(n, field, problem, fix)
			}
			t.Hosts = append(t.Hosts, n.Value)
		})
	case "addresses":
		r.list(value, field, func(n *yaml.Node) {
			a, err := netip.ParseAddr(n.Value)
			if err != nil || a.Zone() != "" {
				r.fault(n, field, "not an address of the server", "write one as 192.0.2.10 or 2001:db8::10")
			}
			t.Addresses = append(t.Addresses, a.Unmap())
		})
	case "ports":
		r.list(value, field, func(n *yaml.Node) {
			p, err := inetdiag.ParsePortRange(n.Value)
			if err != nil || p.Lo == 0 {
				r.fault(n, field, "not a port from 1 to 65535", "")
			}
			t.Ports = append(t.Ports, inetdiag.PortsOf([]inetdiag.PortRange{p})...)
		})
	default:
		r.fault(key, field, "unknown key", "known here: hosts, addresses, ports")
	}
}
