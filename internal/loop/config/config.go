package config

import (
	"math"
	"net/netip"
	"time"

	"github.com/congctl/congctl/internal/core/accesslog"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/record"
)

// Config is the whole file. Keys are in the yaml tags; etc/congctl.yml has each
// with its unit, default and reason. Durations tagged scale:"yes" shrink and
// grow with Window unless the file sets them.
type Config struct {
	PoP         string `yaml:"pop"` // "" is the host name
	StateDir    string `yaml:"state_dir"`
	Socket      string `yaml:"socket"`
	SocketGroup string `yaml:"socket_group"` // "" is the group of the process

	Window time.Duration `yaml:"window"`
	Poll   time.Duration `yaml:"poll" scale:"yes"`

	Netns       []string `yaml:"netns"`  // "own", "all", or names and paths
	Ports       []uint16 `yaml:"ports"`  // local; empty is all
	Cgroup      string   `yaml:"cgroup"` // "" is the cgroup2 root, found in /proc/mounts
	Tier        string   `yaml:"tier"`   // "" is the best that the kernel can; "route" or "observe" hold it lower
	RingBytes   int      `yaml:"ring_bytes"`
	MaxPrefixes int      `yaml:"max_prefixes"`

	Clients    Clients    `yaml:"clients"`
	Treatment  Treatment  `yaml:"treatment"`
	Experiment Experiment `yaml:"experiment"`
	// Policy is completed by Rules: what other keys set is not a key here.
	Policy  policy.Rules `yaml:"policy" scale:"yes"`
	Plan    Plan         `yaml:"plan"`
	Starved Starved      `yaml:"starved"`
	Store   Store        `yaml:"store"`
	Goodput Goodput      `yaml:"goodput"`
	Names   Names        `yaml:"names"`
	Log     Log          `yaml:"log"`
}

// Clients rules which remote addresses are clients, beside those that are public.
type Clients struct {
	Allow   []netip.Prefix `yaml:"allow"`   // clients though loopback, private or otherwise special
	Exclude []netip.Prefix `yaml:"exclude"` // never clients: health checks, own monitoring; beats Allow
}

// Treatment is what a selected prefix gets.
type Treatment struct {
	Cong        string        `yaml:"cong"`
	DefaultCong string        `yaml:"default_cong"` // "" is each namespace's own net.ipv4.tcp_congestion_control
	MinBytes    uint64        `yaml:"min_bytes"`    // of one response, acknowledged
	Expiry      time.Duration `yaml:"expiry" scale:"yes"`
}

// Experiment is the switchback.
type Experiment struct {
	Mode         string        `yaml:"mode"` // "on" or "off"
	Block        time.Duration `yaml:"block" scale:"yes"`
	Washout      time.Duration `yaml:"washout" scale:"yes"`
	ControlEvery int           `yaml:"control_every"` // blocks; one of them is control
	Holdout      float64       `yaml:"holdout"`       // share of all prefixes, drawn; in permille
	AA           float64       `yaml:"aa"`            // the same
}

// Permille gives the two shares in the plan file's unit.
func (e Experiment) Permille() (holdout, aa int) {
	return int(math.Round(1000 * e.Holdout)), int(math.Round(1000 * e.AA))
}

// Plan limits what a plan may hold and how fast it may change.
type Plan struct {
	Max           int            `yaml:"max"`           // prefixes
	NewPerRound   int            `yaml:"new_per_round"` // prefixes
	MaxChange     float64        `yaml:"max_change"`    // share of the plan in force, per round
	AllowPrefixes []netip.Prefix `yaml:"allow_prefixes"`
	Deny          []netip.Prefix `yaml:"deny"`
	DenyFile      string         `yaml:"deny_file"`
}

// Starved says when the host is too short of CPU for a new treatment.
type Starved struct {
	StealShare     float64 `yaml:"steal_share"`       // of CPU time, 0..1
	RunQueuePerCPU float64 `yaml:"run_queue_per_cpu"` // runnable tasks per CPU
}

// Store is what is kept, how long, and what of a client's address.
type Store struct {
	KeepWindows   time.Duration    `yaml:"keep_windows"`
	KeepDecisions time.Duration    `yaml:"keep_decisions"`
	KeepEvents    time.Duration    `yaml:"keep_events"`
	KeepPlans     time.Duration    `yaml:"keep_plans"`
	Addresses     record.Addresses `yaml:"addresses"`
	RecordsFile   string           `yaml:"records_file"` // "" is off
}

// Log is where the process's own words go: standard error.
type Log struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"`
}

const day = 24 * time.Hour

// Default gives the configuration of an empty file.
func Default() Config {
	return Config{
		StateDir: "/var/lib/congctl",
		Socket:   "/run/congctl/congctl.sock",
		Window:   defaultWindow,
		Poll:     10 * time.Second,
		Netns:    []string{NetnsOwn},

		RingBytes:   4 << 20,
		MaxPrefixes: 200_000,
		Treatment:   Treatment{Cong: "bbr", MinBytes: 100_000, Expiry: 15 * time.Minute},
		Experiment:  Experiment{Mode: ExperimentOn, Block: 30 * time.Minute, Washout: 5 * time.Minute, ControlEvery: 8, Holdout: 0.05, AA: 0.05},
		Policy:      policy.DefaultRules(),
		Plan:        Plan{Max: 500, NewPerRound: 25, MaxChange: 0.20},
		Starved:     Starved{StealShare: 0.10, RunQueuePerCPU: 3},
		Store: Store{KeepWindows: 7 * day, KeepDecisions: 30 * day, KeepEvents: 30 * day, KeepPlans: 90 * day,
			Addresses: record.AddressesPrefix},
		Goodput: Goodput{Format: string(accesslog.NginxJSON), Keep: 7 * day},
		Log:     Log{Level: "info", Format: "text"},
	}
}

// Values of Netns that stand alone, and of Experiment.Mode.
const (
	NetnsOwn      = "own"
	NetnsAll      = "all"
	ExperimentOn  = "on"
	ExperimentOff = "off"
)

// Values of Tier, besides "" for the best.
const (
	TierRoute   = "route"
	TierObserve = "observe"
)

// PollsAll reports whether every network namespace is polled.
func (c Config) PollsAll() bool { return len(c.Netns) == 1 && c.Netns[0] == NetnsAll }

// NetnsNames lists the namespaces to poll besides or instead of the own one; nil
// for "own" and "all".
func (c Config) NetnsNames() []string {
	if len(c.Netns) == 1 && (c.Netns[0] == NetnsAll || c.Netns[0] == NetnsOwn) {
		return nil
	}
	return c.Netns
}
