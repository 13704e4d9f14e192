package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/strict"
	"github.com/congctl/congctl/internal/tcp/ranges"
)

// faults checks every value and their relations; it never clamps a value.
func (c Config) faults() (fs strict.Faults) {
	c.checkPlaces(&fs)
	c.checkTime(&fs)
	c.checkSampling(&fs)
	c.checkClients(&fs)
	c.checkTreatment(&fs)
	c.checkPlan(&fs)
	c.checkPolicy(&fs)
	c.checkKeeping(&fs)
	c.checkGoodput(&fs)
	c.checkFleet(&fs)
	c.checkMetrics(&fs)
	return fs
}

var (
	popName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	congName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,14}$`) // TCP_CA_NAME_MAX is 16 with the NUL
)

func (c Config) checkPlaces(fs *strict.Faults) {
	if c.PoP != "" && !popName.MatchString(c.PoP) {
		fs.Add("pop", c.PoP, "not a name", `use letters, digits, ".", "_" and "-", at most 64; "" is the host name`)
	}
	absolute(fs, "state_dir", c.StateDir, false)
	absolute(fs, "socket", c.Socket, false)
	absolute(fs, "cgroup", c.Cgroup, true)
	if c.Tier != "" && c.Tier != TierObserve {
		fs.Add("tier", c.Tier, "not a tier limit", `use "observe"; "" is the best tier that the kernel allows`)
	}
	absolute(fs, "treatment.always_file", c.Treatment.AlwaysFile, true)
	absolute(fs, "treatment.never_file", c.Treatment.NeverFile, true)
	absolute(fs, "store.records_file", c.Store.RecordsFile, true)
	if len(c.Socket) > maxSocket {
		fs.Add("socket", c.Socket, fmt.Sprintf("%d bytes long, at most %d", len(c.Socket), maxSocket), "use a shorter path")
	}
}

// maxSocket: sun_path is 108 with the NUL, and the socket is made under a name that has up to 8
// more, a dot and a process number.
const maxSocket = 99

func absolute(fs *strict.Faults, field, path string, empty bool) {
	if path == "" && empty || strings.HasPrefix(path, "/") {
		return
	}
	fs.Add(field, path, "not an absolute path", "start it with /")
}

const maxBlock = day // the plan file's own bound

func (c Config) checkTime(fs *strict.Faults) {
	w, e := c.Window, c.Experiment
	if w < time.Second || w > time.Hour || w%time.Second != 0 {
		fs.Add("window", FormatDuration(w), "not whole seconds from 1s to 1h", "the default is 5m")
		return // all below are measured in windows
	}
	switch {
	case c.Poll < minPoll || c.Poll > w:
		fs.Add("poll", FormatDuration(c.Poll), "not from 100ms to the window of "+FormatDuration(w), "the default is a thirtieth of the window")
	case w%c.Poll != 0:
		fs.Add("poll", FormatDuration(c.Poll), "does not divide the window of "+FormatDuration(w), "use "+FormatDuration(pollFor(w, c.Poll)))
	}
	switch {
	case e.Block < 2*w || e.Block > maxBlock:
		fs.Add("experiment.block", FormatDuration(e.Block), "not from two windows to 24h", "the default is "+FormatDuration(blockOf(w)))
	case e.Block%w != 0:
		fs.Add("experiment.block", FormatDuration(e.Block), "not a multiple of the window of "+FormatDuration(w), "use "+FormatDuration(roundUp(e.Block, w)))
	}
	switch {
	case e.Washout < 0 || e.Washout%time.Second != 0:
		fs.Add("experiment.washout", FormatDuration(e.Washout), "not whole seconds from 0", "the default is "+FormatDuration(washoutOf(e.Block)))
	case e.Washout >= e.Block:
		fs.Add("experiment.washout", FormatDuration(e.Washout), "leaves nothing of a block of "+FormatDuration(e.Block), "the default is "+FormatDuration(washoutOf(e.Block)))
	}
	if x := c.Treatment.Expiry; x < w || x > day {
		fs.Add("treatment.expiry", FormatDuration(x), "not from one window to 24h", "the default is three windows, "+FormatDuration(3*w))
	}
}

func roundUp(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }

const pageBytes = 4096 // the ring's size must be a power of two times the page

func (c Config) checkSampling(fs *strict.Faults) {
	for _, p := range c.PortRanges() {
		if p.Lo == 0 {
			fs.Add("ports", p.String(), "not a port", "list ports from 1 to 65535, or leave it empty for all")
		}
	}
	c.checkNetns(fs)
	oneOf(fs, "netns_trust", c.NetnsTrust, TrustHost, TrustAll)
	if n := c.RingBytes; n < 64*pageBytes || n > 1<<30 || n&(n-1) != 0 {
		fs.Add("ring_bytes", strconv.Itoa(n), "not a power of two from 262144 to 1073741824", "the default is 4194304")
	}
	between(fs, "max_prefixes", c.MaxPrefixes, max(100, min(c.Plan.Max, maxPlan)), 10_000_000)
	share(fs, "starved.steal_share", c.Starved.StealShare)
	if q := c.Starved.RunQueuePerCPU; q <= 0 || q > 1000 {
		fs.Add("starved.run_queue_per_cpu", number(q), "not above 0 and at most 1000", "the default is 3")
	}
}

func (c Config) checkNetns(fs *strict.Faults) {
	if len(c.Netns) == 0 {
		fs.Add("netns", "", "empty: nothing would be polled", "write own, all, or a list of names")
	}
	for i, n := range c.Netns {
		switch {
		case n == NetnsAll && len(c.Netns) > 1:
			fs.Add("netns", n, "listed with others", "write `netns: all` alone")
		case n == "" || strings.Contains(n, "/") && !strings.HasPrefix(n, "/"):
			fs.Add("netns", n, "neither a name below /run/netns nor an absolute path", "see `ip netns list`")
		case slices.Contains(c.Netns[:i], n):
			fs.Add("netns", n, "listed twice", "keep one")
		}
	}
}

func (c Config) checkClients(fs *strict.Faults) {
	networks(fs, "clients.allow", c.Clients.Allow)
	networks(fs, "clients.exclude", c.Clients.Exclude)
	networks(fs, "plan.allow_prefixes", c.Plan.AllowPrefixes)
	for _, n := range c.Plan.AllowPrefixes {
		if client, narrow := ranges.Widened(n); narrow {
			fs.Add("plan.allow_prefixes", n.String(), "holds no whole client prefix and never takes effect", "write "+client.String())
		}
	}
	for _, n := range c.Clients.Allow {
		if slices.Contains(c.Clients.Exclude, n) {
			fs.Add("clients.allow", n.String(), "also in clients.exclude", "keep one")
		}
	}
}

func networks(fs *strict.Faults, field string, list []netip.Prefix) {
	for _, n := range list {
		switch {
		case !n.IsValid(): // already a fault of reading
		case n.Addr().Is4In6():
			fs.Add(field, n.String(), "IPv4-mapped", "write it as IPv4")
		case n != n.Masked():
			fs.Add(field, n.String(), "host bits set", "write "+n.Masked().String())
		}
	}
}

func (c Config) checkTreatment(fs *strict.Faults) {
	t := c.Treatment
	cong(fs, "treatment.cong", t.Cong)
	if t.DefaultCong != "" {
		cong(fs, "treatment.default_cong", t.DefaultCong)
		if t.DefaultCong == t.Cong {
			fs.Add("treatment.default_cong", t.DefaultCong, "is the treatment: there would be nothing to treat", "name two different ones")
		}
	}
	if t.MinBytes < 1 || t.MinBytes > 1<<40 {
		fs.Add("treatment.min_bytes", strconv.FormatUint(t.MinBytes, 10), "not from 1 to 1099511627776 bytes", "the default is 100000")
	}
	oneOf(fs, "treatment.control", t.Control, ControlOn, ControlOff)
	c.checkHeard(fs)
	always, never := c.entries()
	c.checkLists(fs, always, never)
	c.checkExperiment(fs)
}

// checkHeard refuses what no host of a fleet would hear of: a plan of all networks names none, and a host leaves alone what its own
// file names.
func (c Config) checkHeard(fs *strict.Faults) {
	const why, fix = "reaches no host of a fleet with policy.select all", "write it in each host's file instead"
	t := c.Treatment
	if c.Policy.Select != policy.SelectAll || len(c.Fleet.PoPs) == 0 {
		return
	}
	if len(t.Never) > 0 {
		fs.Add("treatment.never", t.Never[0].Net.String(), why, fix)
	}
	if t.NeverFile != "" {
		fs.Add("treatment.never_file", t.NeverFile, why, fix)
	}
}

func (c Config) checkExperiment(fs *strict.Faults) {
	e := c.Experiment
	between(fs, "experiment.control_every", e.ControlEvery, 2, 1024)
	smallShare(fs, "experiment.holdout", e.Holdout)
	smallShare(fs, "experiment.aa", e.AA)
}

func smallShare(fs *strict.Faults, field string, x float64) {
	if !(x >= 0 && x <= 0.5) {
		fs.Add(field, number(x), "not a share from 0 to 0.5", "0.05 is 5 %")
	}
}

func cong(fs *strict.Faults, field, name string) {
	if !congName.MatchString(name) {
		fs.Add(field, name, "not the name of a congestion control", "see `sysctl net.ipv4.tcp_available_congestion_control`")
	}
}

const maxPlan = 100_000 // prefixes: the kernel maps are sized once

func (c Config) checkPlan(fs *strict.Faults) {
	between(fs, "plan.max", c.Plan.Max, 1, maxPlan)
	between(fs, "plan.new_per_round", c.Plan.NewPerRound, 1, max(c.Plan.Max, 1))
	share(fs, "plan.max_change", c.Plan.MaxChange)
}

const (
	minKeep = 36 * time.Hour // more than the policy looks back by default, which is 30 h
	maxKeep = 3650 * day
)

// Newest returns how many of the newest windows the policy may still need.
func (c Config) Newest() int { return int(c.Remembered() / c.Window) }

// Remembered is how far back a restart must see windows and decisions.
func (c Config) Remembered() time.Duration {
	c.derive()
	return max(minKeep, time.Duration(min(c.Policy.RememberSeconds(), int64(maxKeep/time.Second)))*time.Second)
}

func (c Config) checkKeeping(fs *strict.Faults) {
	for _, k := range []struct {
		field    string
		d, least time.Duration
	}{
		{"store.keep_windows", c.Store.KeepWindows, c.Remembered()}, {"store.keep_decisions", c.Store.KeepDecisions, c.Remembered()},
		{"store.keep_events", c.Store.KeepEvents, minKeep}, {"store.keep_plans", c.Store.KeepPlans, minKeep},
	} {
		if k.d < k.least || k.d > maxKeep {
			fs.Add(k.field, FormatDuration(k.d), "not from "+FormatDuration(k.least)+" to 3650d", "the policy looks back policy.trial.evidence, and one group of blocks more")
		}
	}
	if n := c.Store.MaxBytes; n < 64<<20 || n > 1<<40 {
		fs.Add("store.max_bytes", strconv.FormatInt(n, 10), "not from 67108864 (64 MiB) to 1099511627776 (1 TiB)", "the default is 1073741824 (1 GiB)")
	}
	oneOf(fs, "log.level", c.Log.Level, "debug", "info", "warn", "error")
	oneOf(fs, "log.format", c.Log.Format, "text", "json")
}

func oneOf(fs *strict.Faults, field, value string, known ...string) {
	if !slices.Contains(known, value) {
		fs.Add(field, value, "unknown", "write "+strings.Join(known, ", "))
	}
}

func between(fs *strict.Faults, field string, n, lo, hi int) {
	if n < lo || n > hi {
		fs.Add(field, strconv.Itoa(n), fmt.Sprintf("not from %d to %d", lo, hi), "")
	}
}

func share(fs *strict.Faults, field string, x float64) {
	if x <= 0 || x > 1 {
		fs.Add(field, number(x), "not a share above 0 and at most 1", "0.2 is 20 %")
	}
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
