package popworld

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/lab/kernel/world"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Result is the output of a day.
type Result struct {
	Facts     Facts
	Responses []byte // JSON lines of popday.Response
	Store     []byte // the product's store, as the file it is; nil without
	Emptied   []byte // the store that the fault empty_store removed last
	Records   []byte // what the product wrote of connections; nil without
	Log       []byte // the product's
}

// Facts are the counters of the day: those that a report compares, and more.
type Facts struct {
	popday.Facts
	Networks []NetworkFacts `json:"networks"`
	Product  *ProductFacts  `json:"product,omitempty"`
	Bandit   []NextHopFacts `json:"bandit,omitempty"` // of the policy bpftune
}

// NetworkFacts are those of one client network.
type NetworkFacts struct {
	popday.NetworkFacts
	Path PathCount `json:"path"`
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
		prefix, _ := record.PrefixOf(n.Prefix.Addr()) // of ours: it has one
		f.Networks = append(f.Networks, NetworkFacts{popday.NetworkFacts{Class: n.Class, Prefix: prefix}, c})
	}
	errs = append(errs, d.star.edge.NS.Do(func() (err error) {
		f.SegmentsOut, f.SegmentsAgain, err = segments()
		return err
	}))
	if p := d.product; p != nil {
		f.Product = &ProductFacts{p.lives, p.cpu.Round(time.Microsecond).Seconds()}
		res.Log, res.Emptied = p.tail(), p.emptied
		var err error
		res.Store, err = os.ReadFile(p.Store)
		errs = append(errs, err)
		res.Records, err = p.records()
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

// tcpLines are names, then values.
var tcpLines = regexp.MustCompile(`(?m)^Tcp: (.*)\nTcp: (.*)$`)

// segments reads the TCP counters of the calling thread's namespace.
func segments() (out, again uint64, err error) {
	b, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		return 0, 0, fmt.Errorf("read TCP counters: %w", err)
	}
	if lines := tcpLines.FindSubmatch(b); lines != nil {
		values := strings.Fields(string(lines[2]))
		for i, name := range strings.Fields(string(lines[1])) {
			switch v, _ := strconv.ParseUint(values[i], 10, 64); name {
			case "OutSegs":
				out = v
			case "RetransSegs":
				again = v
			}
		}
	}
	return out, again, nil
}
