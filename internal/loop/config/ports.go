package config

import "github.com/congctl/congctl/internal/tcp/inetdiag"

// PortRange is a port, or a range of them, written as in 8080-8090.
type PortRange inetdiag.PortRange

// UnmarshalText reads one.
func (p *PortRange) UnmarshalText(b []byte) error {
	r, err := inetdiag.ParsePortRange(string(b))
	*p = PortRange(r)
	return err
}

// MarshalYAML writes a single port as a number.
func (p PortRange) MarshalYAML() (any, error) {
	if p.Lo == p.Hi {
		return p.Lo, nil
	}
	return inetdiag.PortRange(p).String(), nil
}

// PortRanges are the local ports that are measured; none is all.
func (c Config) PortRanges() (out []inetdiag.PortRange) {
	for _, p := range c.Ports {
		out = append(out, inetdiag.PortRange(p))
	}
	return out
}
