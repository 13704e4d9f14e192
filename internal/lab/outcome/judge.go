package outcome

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/congctl/congctl/internal/lab/scenario"
)

// rules are all gates, in the order of a result. A rule returns its gate without name and
// exemption; Why may be set although it holds.
var rules = []struct {
	name string
	rule func(*view) Gate
}{
	{"finished", finished},
	{"cong", cong},
	{"qdisc", qdiscs},
	{"pacing", pacing},
	{"emulator_at_sender", emulatorAtSender},
	{"single_mtu", singleMTU},
	{"loss", losses},
	{"reorder", reordering},
	{"idle_rtt", idleRTT},
	{"rate", rate},
	{"burst", burst},
	{"buffer", buffer},
	{"sender_drops", senderDrops},
	{"link_drops", linkDrops},
	{"limit_drops", limitDrops},
	{"rwnd_limited", rwndLimited},
	{"sndbuf_limited", sndbufLimited},
	{"metrics", cachedMetrics},
	{"sysctls", sysctls},
	{"cpu", cpu},
}

// Judge reports whether a run of c is valid, and its numbers. A run that ended with an
// error is judged by that alone: what it saw until then would only add wrong reasons.
func Judge(s *scenario.Scenario, c *scenario.Cell, r *Run) Result {
	v := &view{s, c, r}
	result := Result{Cell: c.ID, Seed: r.Seed, Valid: true}
	for _, k := range rules {
		g := k.rule(v)
		g.Name = k.name
		if k.name != rules[0].name { // nothing exempts from having run
			g.Exempt = s.Exempt[k.name]
		}
		if g.OK {
			g.Why = ""
		}
		result.Gates = append(result.Gates, g)
		result.Valid = result.Valid && (g.OK || g.Exempt != "")
		if r.Error != "" {
			break
		}
	}
	if result.Valid {
		result.Metrics = measure(v)
	}
	return result
}

// view is a gate's input.
type view struct {
	s *scenario.Scenario
	c *scenario.Cell
	r *Run
}

// hop returns the first one that plays the role, nil if none does.
func (v *view) hop(role string) *Hop {
	for i := range v.r.Hops {
		if v.r.Hops[i].plays(role) {
			return &v.r.Hops[i]
		}
	}
	return nil
}

func (h *Hop) plays(role string) bool { return h != nil && slices.Contains(h.Roles, role) }

// frame is the largest packet as tc counts it: with its Ethernet header.
func (v *view) frame() float64 { return float64(v.c.Path.MTU) + ethernetBytes }

const ethernetBytes = 14

// Words for people: three or four digits, and the unit that makes them readable.

func bits(perS float64) string {
	return scaled(perS, []string{"bit/s", "kbit/s", "Mbit/s", "Gbit/s"})
}

func micros(us float64) string { return scaled(us, []string{"us", "ms", "s"}) }

func percent(share float64) string { return digits(100*share) + " %" }

func scaled(x float64, units []string) string {
	i := 0
	for ; i < len(units)-1 && x >= 1000; i++ {
		x /= 1000
	}
	return digits(x) + " " + units[i]
}

// digits returns four of them, without an exponent.
func digits(x float64) string {
	short, _ := strconv.ParseFloat(fmt.Sprintf("%.4g", x), 64)
	return strconv.FormatFloat(short, 'f', -1, 64)
}
