package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/strict"
	"github.com/congctl/congctl/internal/tcp/record"
)

// moved maps keys of older files to those that took their place, with the same value.
var moved = map[string]string{"plan.deny": "treatment.never", "plan.deny_file": "treatment.never_file"}

// gone maps keys of older files to what decides now. A file that has them stays good, since an
// upgrade must not stop an edge; [Config.Ignored] names them.
var gone = map[string]string{
	"experiment.mode":                  "policy.select: slowest-fifth has no experiment, the others have one",
	"experiment.control_every_settled": "no network settles: a promoted one keeps the control blocks of all",
	"policy.trial.false_share":         "no network waits for a proof: belief promotes",
	"policy.trial.budget":              "belief says how long a network stays on trial",
}

// derived maps fields of the policy section to the keys that set them: each number has
// one place in the file.
var derived = map[string]string{
	"policy.window":            "window",
	"policy.max_new_per_round": "plan.new_per_round",
	"policy.max_selected":      "plan.max",
	"policy.max_tracked":       "max_prefixes",
	"policy.treatment":         "treatment.cong",
	"policy.treatment_version": "treatment.cong",
	"treatment.auto_why":       "treatment.cong",
	"treatment.version":        "treatment.cong",
	"policy.guards.never":      "treatment.never",
	"policy.always":            "treatment.always",
	"policy.uncontrolled":      "treatment.control",
	"policy.guards.allow":      "plan.allow_prefixes",

	"policy.trial.block":          "experiment.block",
	"policy.trial.washout":        "experiment.washout",
	"policy.trial.group_promoted": "experiment.control_every",
}

// Rules returns the whole policy: the policy section, with what other keys set. It
// reads the files of lists.
func (c Config) Rules() (policy.Rules, error) {
	always, never, err := c.Lists()
	if err != nil {
		return policy.Rules{}, err
	}
	c.derive()
	c.Policy.Always, c.Policy.Guards.Never = always, never
	return c.Policy, nil
}

func (c *Config) derive() {
	p := &c.Policy
	p.WindowSeconds = int64(c.Window / time.Second)
	p.MaxNewPerRound, p.MaxSelected, p.MaxTracked = c.Plan.NewPerRound, c.Plan.Max, c.MaxPrefixes
	p.Guards.Never, p.Guards.Allow = c.Treatment.Never, c.Plan.AllowPrefixes
	p.Treatment, p.TreatmentVersion = c.Treatment.Cong, 0
	if c.Treatment.Version > 1 {
		p.TreatmentVersion = c.Treatment.Version
	}
	if p.Treatment == CongAuto { // to check the rules: the priors of both are known
		p.Treatment = "bbr"
	}
	p.Uncontrolled = c.Treatment.Control == ControlOff
	t, e := &p.Trial, c.Experiment
	t.GroupPromoted = e.ControlEvery
	t.BlockSeconds, t.WashoutSeconds = int64(e.Block/time.Second), int64(e.Washout/time.Second)
}

// follow sets the defaults that follow from other keys, of what the file does not set: durations from the
// window, the cap and the control blocks from the selection, the wash-out from the block. So the selection by level is one line of a file.
func (c *Config) follow(set func(path string) bool) {
	c.scale(set)
	if !set("experiment.block") {
		c.Experiment.Block = blockOf(c.Window)
	}
	if !set("experiment.washout") {
		c.Experiment.Washout = washoutOf(c.Experiment.Block)
	}
	if !set("policy.cap") {
		c.Policy.Cap = c.Policy.Select == policy.SelectBenefit
	}
	if !set("experiment.control_every") {
		c.Experiment.ControlEvery = c.controlEvery()
	}
}

// controlEvery is the default: an eighth of the blocks by level, which those keep known; else a sixteenth, of the whole PoP, and two such
// groups fit the time that evidence counts.
func (c Config) controlEvery() int {
	if c.Policy.Select == policy.SelectSlowest {
		return policy.GroupByLevel
	}
	block := max(1, int64(c.Experiment.Block/time.Second))
	return max(2, min(Default().Experiment.ControlEvery, int(c.Policy.Trial.EvidenceSeconds/block/2)))
}

// defaultBlock is ten times the wash-out.
const defaultBlock = 10 * time.Minute

// blockOf is the default for windows of this length: like the wash-out it does not follow the window, but it is of whole windows, two
// at least and, where windows are so short that only a test has them, six at most.
func blockOf(window time.Duration) time.Duration {
	if window <= 0 {
		return defaultBlock
	}
	return min(6*window, max(2*window, roundUp(defaultBlock, window)))
}

// washoutOf is the default for blocks of this length: a minute, which drains queues and does not follow the window,
// and at most a tenth of what it takes from.
func washoutOf(block time.Duration) time.Duration {
	return min(time.Minute, (block / 10).Truncate(time.Second))
}

// Draws are policy.Rules.PoPGroup and Drawn by the file's keys.
func (c Config) Draws() (popGroup int, drawn record.Prefix) {
	c.derive()
	return c.Policy.PoPGroup(), c.Policy.Drawn()
}

// checkPolicy asks the policy itself, and translates its faults to the names and units of
// the file; a fault of a derived field goes to the key that sets it.
func (c Config) checkPolicy(fs *strict.Faults) {
	if c.Window < time.Second || c.Window > time.Hour || c.Window%time.Second != 0 {
		return // its times are measured in windows
	}
	c.derive()
	err := c.Policy.Validate()
	var all interface{ Unwrap() []error }
	if !errors.As(err, &all) {
		return
	}
	for _, err := range all.Unwrap() {
		f := policyFault(err)
		f.Field = cmp.Or(derived[f.Field], f.Field)
		if !slices.ContainsFunc(*fs, func(had strict.Fault) bool { return had.Field == f.Field }) {
			*fs = append(*fs, f)
		}
	}
}

var (
	policyText = regexp.MustCompile(`^check policy: ([a-z_.]+)(?:\[\d+\])? (.*?): (.*)$`)
	secondsFix = regexp.MustCompile(`_seconds, (\d+)`)
)

func policyFault(err error) strict.Fault {
	m := policyText.FindStringSubmatch(err.Error())
	if m == nil {
		return strict.Fault{Field: "policy", Problem: err.Error()}
	}
	f := strict.Fault{Field: "policy." + m[1], Value: m[2], Problem: "out of bounds", Fix: secondsFix.ReplaceAllString(m[3], ", $1 s")}
	if name, seconds := strings.CutSuffix(f.Field, secondsTail); seconds {
		f.Field, f.Value = name, m[2]+"s"
	}
	f.Fix = strings.ReplaceAll(f.Fix, secondsTail, "")
	return f
}

// secondsTail: core holds durations as whole seconds in fields with this suffix. In the
// file they are durations like all others, without the suffix.
const secondsTail = "_seconds"

func wholeSeconds(s string) (int64, error) {
	d, err := ParseDuration(s)
	if err == nil && d%time.Second != 0 {
		err = fmt.Errorf("parse duration %q: not whole seconds", s)
	}
	return int64(d / time.Second), err
}
