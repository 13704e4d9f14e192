package config

import (
	"time"

	"github.com/congctl/congctl/internal/core/accesslog"
)

// Goodput is where responses are told of.
type Goodput struct {
	AccessLogs []string      `yaml:"access_logs"` // empty: goodput is not measured
	Format     string        `yaml:"format"`
	Keep       time.Duration `yaml:"keep"`
}

// Names are files that name what effects are grouped by; "" is none.
type Names struct {
	Networks string `yaml:"networks"`
	Tenants  string `yaml:"tenants"`
	ASN      string `yaml:"asn"`
}

// leastGoodput: effects are of a day by default, and rows of a day's responses may
// come two days later.
const leastGoodput = 3 * day

func (c Config) checkGoodput(fs *Faults) {
	if _, err := accesslog.ParseFormat(c.Goodput.Format); err != nil {
		fs.add("goodput.format", c.Goodput.Format, "unknown", "write nginx-json, apache or congctl")
	}
	if c.Goodput.Keep < leastGoodput {
		fs.add("goodput.keep", FormatDuration(c.Goodput.Keep), "shorter than 3d", "write 3d or more")
	}
	seen := map[string]bool{}
	for _, path := range c.Goodput.AccessLogs {
		absolute(fs, "goodput.access_logs", path, false)
		if seen[path] {
			fs.add("goodput.access_logs", path, "given twice", "keep one")
		}
		seen[path] = true
	}
	absolute(fs, "names.networks", c.Names.Networks, true)
	absolute(fs, "names.tenants", c.Names.Tenants, true)
	absolute(fs, "names.asn", c.Names.ASN, true)
}
