package config

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/strict"
)

// Formats are the names of access log formats, the default first; goodput/accesslog decodes
// them.
var Formats = []string{"nginx-json", "apache", "congctl"}

// Goodput is the source of responses.
type Goodput struct {
	AccessLogs []string      `yaml:"access_logs"` // empty: goodput is not measured
	Format     string        `yaml:"format"`
	Keep       time.Duration `yaml:"keep"`
}

// Names are files that name the groups of effects; "" is none.
type Names struct {
	Networks string `yaml:"networks"`
	Tenants  string `yaml:"tenants"`
	ASN      string `yaml:"asn"`
}

// leastGoodput: effects cover a day by default, and rows of a day's responses may arrive
// two days later.
const leastGoodput = 3 * day

// noLogs are paths at which no server writes the plain file that is followed.
var noLogs = []struct {
	*regexp.Regexp
	is, fix string
}{
	{regexp.MustCompile(`[*?[{$%]`), "a pattern", "name each log; a server can write one for all its hosts"},
	{regexp.MustCompile(`[.](gz|xz|bz2|zst|lz4|Z)$|log([.]\d{1,3}|[.-]\d{8,})$`), "a rotated log", "name the one that the server writes: it is followed through its rotations"},
	{regexp.MustCompile(`^/+(dev|proc|sys)/|/$`), "not a plain file", "let the server write to a file, as in /var/log/nginx/congctl.log"},
}

func checkLog(fs *strict.Faults, path string) {
	for _, p := range noLogs {
		if p.MatchString(path) && !strings.HasPrefix(path, "/dev/shm/") {
			fs.Add("goodput.access_logs", path, p.is, p.fix)
			return
		}
	}
}

func (c Config) checkGoodput(fs *strict.Faults) {
	if !slices.Contains(Formats, c.Goodput.Format) {
		fs.Add("goodput.format", c.Goodput.Format, "unknown", "write nginx-json, apache or congctl")
	}
	if c.Goodput.Keep < leastGoodput {
		fs.Add("goodput.keep", FormatDuration(c.Goodput.Keep), "shorter than 3d", "write 3d or more")
	}
	seen := map[string]bool{}
	for _, path := range c.Goodput.AccessLogs {
		absolute(fs, "goodput.access_logs", path, false)
		checkLog(fs, path)
		clean := filepath.Clean(path)
		if seen[clean] { // its lines would count twice
			fs.Add("goodput.access_logs", path, "given twice", "keep one")
		}
		seen[clean] = true
	}
	absolute(fs, "names.networks", c.Names.Networks, true)
	absolute(fs, "names.tenants", c.Names.Tenants, true)
	absolute(fs, "names.asn", c.Names.ASN, true)
}
