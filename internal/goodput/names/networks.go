package names

import (
	"fmt"
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/congctl/congctl/internal/goodput/network"
	"github.com/congctl/congctl/internal/linux/plainfile"
)

// ReadNetworks reads a file of named networks.
func ReadNetworks(name string) (*network.Table, error) {
	text, err := plainfile.Read(name, maxFile)
	if err != nil {
		return nil, err
	}
	t, err := ParseNetworks(text)
	if err != nil {
		return nil, fmt.Errorf("read networks %s:\n%w", name, err)
	}
	return t, nil
}

// ParseNetworks reads "name: [prefix, ...]" entries. The error is a [strict.Faults].
func ParseNetworks(text []byte) (*network.Table, error) {
	r := &reader{}
	var list []network.Named
	line := map[netip.Prefix]*yaml.Node{}
	r.entries(text, "networks", func(name string, _, value *yaml.Node) {
		n := network.Named{Name: name}
		r.list(value, name, func(item *yaml.Node) {
			if p, ok := r.prefix(item, name, line); ok {
				n.Prefixes = append(n.Prefixes, p)
			}
		})
		list = append(list, n)
	})
	if err := r.faults.Err(); err != nil {
		return nil, err
	}
	return network.NewTable(list)
}

func (r *reader) prefix(item *yaml.Node, name string, line map[netip.Prefix]*yaml.Node) (netip.Prefix, bool) {
	p, _ := netip.ParsePrefix(item.Value)
	if problem, fix := network.Check(p); problem != "" {
		r.fault(item, name, problem, fix)
		return p, false
	}
	if first := line[p]; first != nil {
		r.fault(item, name, fmt.Sprintf("already in line %d", first.Line), "keep one: otherwise its name would depend on the order")
		return p, false
	}
	line[p] = item
	return p, true
}
