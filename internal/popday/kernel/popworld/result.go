package pop

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/kernel/world"
)

// Result is what a day left behind.
type Result struct {
	Facts     Facts
	Responses []byte // JSON lines of Response
	Store     []byte // the product's store, as the file it is; nil without
	Emptied   []byte // the store that the fault empty_store removed last
	Log       []byte // the product's
}

// Facts are counters of the day.
type Facts struct {
	Day            string         `json:"day"`
	Policy         string         `json:"policy"`
	Seed           uint64         `json:"seed"`
	Kernel         string         `json:"kernel"`
	BeganUnixS     int64          `json:"began_unix_s"`    // the day's first moment, by the machine's clock
	DurationUs     uint64         `json:"duration_us"`     // from there to the end of all
	BusyShare      float64        `json:"busy_share"`      // CPU not idle
	SoftnetDropped uint64         `json:"softnet_dropped"` // packets that the machine had no room for
	Responses      int            `json:"responses"`
	Large          int            `json:"large"`          // of 100,000 bytes and more
	Broken         int            `json:"broken"`         // that did not come whole
	SegmentsOut    uint64         `json:"segments_out"`   // of the edge (Tcp OutSegs)
	SegmentsAgain  uint64         `json:"segments_again"` // retransmitted (Tcp RetransSegs)
	Networks       []NetworkFacts `json:"networks"`
	Product        *ProductFacts  `json:"product,omitempty"`
	Bandit         []NextHopFacts `json:"bandit,omitempty"` // of the policy bpftune
}

// NetworkFacts are those of one client network.
type NetworkFacts struct {
	Class  string    `json:"class"`
	Prefix string    `json:"prefix"`
	Path   PathCount `json:"path"`
}

// ProductFacts are those of the process beside the server.
type ProductFacts struct {
	Lives int     `json:"lives"` // how often it was started
	CPUS  float64 `json:"cpu_s"`
}

// collect reads every counter and file.
func (d *day) collect(res *Result) error {
	f := &res.Facts
	f.Kernel = world.Release()
	f.Responses, f.Large, f.Broken = d.book.count()
	res.Responses = d.book.text()
	var errs []error
	for i, n := range d.world.Networks {
		c, err := d.star.paths[i].count()
		errs = append(errs, err)
		f.Networks = append(f.Networks, NetworkFacts{n.Class, n.Prefix.String(), c})
	}
	errs = append(errs, d.star.edge.ns.Do(func() (err error) {
		f.SegmentsOut, f.SegmentsAgain, err = segments()
		return err
	}))
	if p := d.product; p != nil {
		f.Product = &ProductFacts{p.lives, p.cpu.Round(time.Microsecond).Seconds()}
		res.Log, res.Emptied = p.tail(), p.emptied
		var err error
		res.Store, err = os.ReadFile(p.Store)
		errs = append(errs, err)
	}
	if d.rival != nil {
		var err error
		f.Bandit, err = d.rival.facts()
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("collect: %w", err)
	}
	return nil
}

// segments reads the Tcp lines of the calling thread's namespace: names, then values.
func segments() (out, again uint64, err error) {
	b, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		return 0, 0, fmt.Errorf("read TCP counters: %w", err)
	}
	var names []string
	for l := range strings.Lines(string(b)) {
		w := strings.Fields(l)
		if len(w) == 0 || w[0] != "Tcp:" {
			continue
		}
		if names == nil {
			names = w
			continue
		}
		for i, name := range names {
			v, _ := strconv.ParseUint(w[i], 10, 64)
			switch name {
			case "OutSegs":
				out = v
			case "RetransSegs":
				again = v
			}
		}
	}
	return out, again, nil
}
