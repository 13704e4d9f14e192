package popday

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/goodput/comparison"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/popday/pop"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Policies that others are compared with: everything on the edge's default is the baseline,
// everything on the other one the truth beside the blocks.
const (
	cubic    = "cubic"
	bbr      = "bbr"
	switched = "switch" // every large response moved at byte LargeBytes: the truth of what the loop does
	// allCapped treats every network in every block, with the pacing cap: what a loop must give its neighbours for what it withholds.
	allCapped = "all-cap"
)

// arms returns the policies with everything on the default, and on the treatment.
func (in *Input) arms() (base, full string) {
	if in.Day.Default == bbr {
		return bbr, cubic
	}
	return cubic, bbr
}

// All returns the name of the policy with everything on one congestion control.
func All(policy string) string { return "all-" + strings.ToUpper(policy) }

// neighbours are the classes whose server is not the edge.
func (in *Input) neighbours() map[string]bool {
	names := map[string]bool{}
	for i := range in.Day.Classes {
		names[in.Day.Classes[i].Name] = in.Day.Classes[i].Theirs()
	}
	return names
}

// Run is one run of the day.
type Run struct {
	Facts     Facts
	Responses []Response
	Loop      *Loop // nil without congctl
}

// Loop is congctl's store of a run. Times are Unix seconds of the machine.
type Loop struct {
	Observes bool // treats nothing
	// Pairs has all rounds and rows; responses are added here.
	Pairs  *comparison.Builder
	Rounds []Round                  // in order of time
	Events []journal.Event          // of networks, and the brake's; the same
	Rows   []record.Window          // that have eligible connections
	Heads  map[int64]bool           // windows that closed and can be trusted
	Refuse map[record.Prefix]string // guards that kept a network out, joined by commas
}

// Round is one round with its selection.
type Round struct {
	journal.Round
	Chosen []policy.Selected
}

// Setting is a key of congctl's configuration that is not at its default.
type Setting struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Scaled  bool   `json:"scaled"` // it follows from the window, the wash-out from the block
}

// Experiment holds the experiment's times, seconds.
type Experiment struct {
	WindowS  int64 `json:"window_s"`
	BlockS   int64 `json:"block_s"`
	WashoutS int64 `json:"washout_s"`
	// MinKnown windows allow a decision: the ramp is twice as many.
	MinKnown int     `json:"min_known_windows"`
	LowRTTUs float64 `json:"low_rtt_us"` // of the guard
	MinBytes uint64  `json:"min_bytes"`  // acknowledged before a connection is switched
}

// Input is everything to compare.
type Input struct {
	Day        *pop.Day
	Assumed    string // where the day's text is from, if not from the runs' folders
	Experiment Experiment
	Settings   []Setting
	Runs       []Run
}

// check reports whether the runs are of one day.
func (in *Input) check() error {
	if len(in.Runs) == 0 {
		return errors.New("compare runs: there are none")
	}
	first := &in.Runs[0].Facts
	seen := map[string]bool{}
	for i := range in.Runs {
		f := &in.Runs[i].Facts
		name := f.Name()
		if seen[name] {
			return fmt.Errorf("compare runs: two are %s", name)
		}
		seen[name] = true
		if f.Day != first.Day || !slices.Equal(f.Networks, first.Networks) {
			return fmt.Errorf("compare runs: %s is of another day than %s: %s with %d networks, %s with %d", name, first.Name(),
				f.Day, len(f.Networks), first.Day, len(first.Networks))
		}
	}
	classes := map[string]bool{}
	for _, c := range in.Day.Classes {
		classes[c.Name] = true
	}
	for _, n := range first.Networks {
		if !classes[n.Class] {
			return fmt.Errorf("compare runs: the day has no networks %q", n.Class)
		}
	}
	return nil
}

// Name is policy and seed, as in a folder's name.
func (f *Facts) Name() string { return fmt.Sprintf("%s-%d", f.Policy, f.Seed) }

// order of policies in every table: first the two that others are compared with, then those
// of the lab, then any other by name.
var order = []string{cubic, bbr, "cubic_lt", "static", oracle, "observe", "bpftune", "bpftune-cap", "loop", "slowest-fifth", uncapped, capped, allCapped, switched}

// The policies under which congctl treats networks: as the day configures it, and with one of its
// rules of selection.
const (
	uncapped = "benefit"
	capped   = "benefit-cap" // the same with a pacing cap
)

// Loops are those policies, the one that the report begins with first: the first that was run.
var Loops = []string{loopPolicy, capped, uncapped, "slowest-fifth"}

// loopsIn returns those that have a valid run, in the order of every table.
func loopsIn(t *table) (names []string) {
	for p, name := range t.policies {
		if slices.Contains(Loops, name) && len(t.seedsOf(p)) > 0 && t.runs[slices.Index(t.seeds, t.seedsOf(p)[0])][p].Loop != nil {
			names = append(names, name)
		}
	}
	return names
}

// leadOf returns the loop that the report begins with; the policy loop where there is none.
func leadOf(t *table) string {
	for _, name := range Loops {
		if slices.Contains(loopsIn(t), name) {
			return name
		}
	}
	return loopPolicy
}

func comparePolicies(a, b string) int {
	place := func(s string) int {
		if i := slices.Index(order, s); i >= 0 {
			return i
		}
		return len(order)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
}

func compareRuns(a, b Run) int {
	return cmp.Or(comparePolicies(a.Facts.Policy, b.Facts.Policy), cmp.Compare(a.Facts.Seed, b.Facts.Seed))
}
