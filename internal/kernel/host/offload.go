package host

import "github.com/congctl/congctl/internal/kernel/ethtool"

// Offloads asks a link of this network namespace which of its offloads are on: tso, gso, gro.
func Offloads(link string) (map[string]bool, error) {
	on := map[string]bool{}
	for _, o := range []ethtool.Offload{ethtool.TSO, ethtool.GSO, ethtool.GRO} {
		var err error
		if on[o.String()], err = o.On(link); err != nil {
			return nil, err
		}
	}
	return on, nil
}
