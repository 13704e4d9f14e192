package config

import (
	"math"
	"net/netip"
	"time"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Config is the whole file. The yaml tags are its keys; etc/congctl.yml has each with its
// unit, default and reason. Durations tagged scale:"yes" scale with Window unless the
// file sets them.
type Config struct {
	PoP         string `yaml:"pop"` // "" is the host name
	StateDir    string `yaml:"state_dir"`
	Socket      string `yaml:"socket"`
	SocketGroup string `yaml:"socket_group"` // "" is the group of the process

	Window time.Duration `yaml:"window"`
	Poll   time.Duration `yaml:"poll" scale:"yes"`

	Netns       []string    `yaml:"netns"`       // "own", "all", or names and paths
	NetnsTrust  string      `yaml:"netns_trust"` // "host", or "all"
	Ports       []PortRange `yaml:"ports"`       // local; empty is all
	Cgroup      string      `yaml:"cgroup"`      // "" is the cgroup2 root, found in /proc/mounts
	Tier        string      `yaml:"tier"`        // "" is the best that the kernel can do; "observe" treats nothing
	RingBytes   int         `yaml:"ring_bytes"`
	MaxPrefixes int         `yaml:"max_prefixes"`

	Clients    Clients    `yaml:"clients"`
	Treatment  Treatment  `yaml:"treatment"`
	Experiment Experiment `yaml:"experiment"`
	// Rules completes Policy: what other keys set is not a key here.
	Policy  policy.Rules `yaml:"policy" scale:"yes"`
	Plan    Plan         `yaml:"plan"`
	Starved Starved      `yaml:"starved"`
	Store   Store        `yaml:"store"`
	Goodput Goodput      `yaml:"goodput"`
	Names   Names        `yaml:"names"`
	Fleet   Fleet        `yaml:"fleet"`
	Metrics Metrics      `yaml:"metrics"`
	Log     Log          `yaml:"log"`

	Ignored []string `yaml:"-"` // keys of the file that are of earlier versions, each with what decides now
}

// Clients decides which remote addresses are clients, besides public ones.
type Clients struct {
	Allow   []netip.Prefix `yaml:"allow"`   // clients although loopback, private or otherwise special
	Exclude []netip.Prefix `yaml:"exclude"` // never clients: health checks, own monitoring; beats Allow
}

// Treatment is what a selected prefix gets.
type Treatment struct {
	Cong        string        `yaml:"cong"`
	AutoWhy     string        `yaml:"auto_why"`     // Cong was [CongAuto]: why it is what it is now
	Version     int           `yaml:"version"`      // of BBR, by this host's kernel; 0: it does not say, or another treatment
	DefaultCong string        `yaml:"default_cong"` // "" is each namespace's own net.ipv4.tcp_congestion_control
	MinBytes    uint64        `yaml:"min_bytes"`    // of one response, acknowledged
	Expiry      time.Duration `yaml:"expiry" scale:"yes"`

	Always     []policy.Listed `yaml:"always"`      // networks to treat whatever is measured
	AlwaysFile string          `yaml:"always_file"` // more of them
	Control    string          `yaml:"control"`     // "on" or "off": control blocks of those
	Never      []policy.Listed `yaml:"never"`       // networks never to treat
	NeverFile  string          `yaml:"never_file"`  // more of them
}

// CongAuto as treatment.cong is cubic_lt on a host whose kernel can have it, else BBR. What reads the file for a host settles it.
const CongAuto = "auto"

// Experiment is the switchback.
type Experiment struct {
	Block        time.Duration `yaml:"block"`
	Washout      time.Duration `yaml:"washout"`       // start of a block
	ControlEvery int           `yaml:"control_every"` // blocks; one of them is control
	Holdout      float64       `yaml:"holdout"`       // share of all prefixes, drawn; in permille
	AA           float64       `yaml:"aa"`            // the same
}

// Permille returns the two shares in the plan file's unit.
func (e Experiment) Permille() (holdout, aa int) {
	return int(math.Round(1000 * e.Holdout)), int(math.Round(1000 * e.AA))
}

// Plan limits what a plan may hold and how fast it may change.
type Plan struct {
	Max           int            `yaml:"max"`           // prefixes
	NewPerRound   int            `yaml:"new_per_round"` // prefixes
	MaxChange     float64        `yaml:"max_change"`    // share of the plan in force, per round
	AllowPrefixes []netip.Prefix `yaml:"allow_prefixes"`
}

// Starved is when the host is too short of CPU for a new treatment.
type Starved struct {
	StealShare     float64 `yaml:"steal_share"`       // of CPU time, 0..1
	RunQueuePerCPU float64 `yaml:"run_queue_per_cpu"` // runnable tasks per CPU
}

// Store is what is kept, for how long, and how much of a client's address.
type Store struct {
	KeepWindows   time.Duration    `yaml:"keep_windows"`
	KeepDecisions time.Duration    `yaml:"keep_decisions"`
	KeepEvents    time.Duration    `yaml:"keep_events"`
	KeepPlans     time.Duration    `yaml:"keep_plans"`
	MaxBytes      int64            `yaml:"max_bytes"` // in use of the store's file
	Addresses     record.Addresses `yaml:"addresses"`
	RecordsFile   string           `yaml:"records_file"` // "" is off
}

// Before returns what is older at a time than s keeps.
func (s Store) Before(unix int64) journal.Before {
	ago := func(d time.Duration) int64 { return unix - int64(d/time.Second) }
	return journal.Before{Windows: ago(s.KeepWindows), Rounds: ago(s.KeepDecisions), Events: ago(s.KeepEvents), Plans: ago(s.KeepPlans)}
}

// Log is where the process logs: standard error.
type Log struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"`
}

const day = 24 * time.Hour

// Default returns the configuration of an empty file.
func Default() Config {
	return Config{
		StateDir: "/var/lib/congctl",
		Socket:   "/run/congctl/congctl.sock",
		Window:   defaultWindow,
		Poll:     10 * time.Second,
		Netns:    []string{NetnsOwn},

		NetnsTrust:  TrustHost,
		RingBytes:   4 << 20,
		MaxPrefixes: 200_000,
		Treatment:   Treatment{Cong: "bbr", MinBytes: 100_000, Expiry: 15 * time.Minute, Control: ControlOn},
		Experiment:  Experiment{Block: defaultBlock, Washout: washoutOf(defaultBlock), ControlEvery: 16, Holdout: 0.02, AA: 0.01},
		Policy:      policy.DefaultRules(),
		Plan:        Plan{Max: 500, NewPerRound: 25, MaxChange: 0.20},
		Starved:     Starved{StealShare: 0.10, RunQueuePerCPU: 3},
		Store: Store{KeepWindows: 7 * day, KeepDecisions: 30 * day, KeepEvents: 30 * day, KeepPlans: 90 * day, MaxBytes: 1 << 30,
			Addresses: record.AddressesPrefix},
		Goodput: Goodput{Format: Formats[0], Keep: 7 * day},
		Fleet:   Fleet{Listen: ":9477", Lateness: 30 * time.Second, SpoolBytes: 1 << 30},
		Metrics: Metrics{Networks: NetworksNone, Dashboard: DashboardOn},
		Log:     Log{Level: "info", Format: "text"},
	}
}

// Values of Netns that stand alone, of NetnsTrust, and of Treatment.Control.
const (
	NetnsOwn   = "own"
	NetnsAll   = "all"
	TrustHost  = "host"
	TrustAll   = "all"
	ControlOn  = "on"
	ControlOff = "off"
)

// TierObserve is the value of Tier besides "" for the best.
const TierObserve = "observe"
