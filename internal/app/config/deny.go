package config

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// DenyList gives the networks never to treat: those of the configuration and
// those of its deny file, one a line, "#" to the end of the line is a comment.
func (c Config) DenyList() ([]netip.Prefix, error) {
	list := append([]netip.Prefix(nil), c.Plan.Deny...)
	if c.Plan.DenyFile == "" {
		return list, nil
	}
	b, err := os.ReadFile(c.Plan.DenyFile)
	if err != nil {
		return nil, fmt.Errorf("read deny list: %w", err)
	}
	more, err := ParseNetworks(b)
	if err != nil {
		return nil, fmt.Errorf("read deny list %s: %w", c.Plan.DenyFile, err)
	}
	return append(list, more...), nil
}

// ParseNetworks reads networks, one a line. The error is a [Faults].
func ParseNetworks(b []byte) (list []netip.Prefix, err error) {
	var fs Faults
	for i, line := range strings.Split(string(b), "\n") {
		text, _, _ := strings.Cut(line, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		n, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			fs = append(fs, Fault{Line: i + 1, Value: text, Problem: "not a network", Fix: "write 203.0.113.0/24 or 2001:db8::/56"})
		case n != n.Masked():
			fs = append(fs, Fault{Line: i + 1, Value: text, Problem: "host bits set", Fix: "write " + n.Masked().String()})
		default:
			list = append(list, n)
		}
	}
	if err := fs.or(); err != nil {
		return nil, err
	}
	return list, nil
}
