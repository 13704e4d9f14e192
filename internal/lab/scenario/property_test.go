package scenario

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/strict"
)

// values are plausible for their keys, with a wrong one here and there: what a person
// would write. Bytes at random would seldom get past the YAML.
var values = map[string][]string{
	"rate": {"8kbit", "1mbit", "12500kB/s", "1gbit", "100gbit", "9bit", "1mbps"}, "rtt": {"0ms", "200us", "30ms", "10s", "11s"},
	"jitter": {"0ms", "1ms", "6s"}, "reorder": {"0%", "1%", "11%"}, "mtu": {"576B", "1500B", "9kB"}, "bottleneck": {"netem", "tbf", "fq", "fq_codel", "pfifo_fast", "policer", "htb"},
	"buffer": {"1p", "50ms", "0.1bdp", "16bdp", "0p", "999bdp"}, "burst": {"2kB", "1MiB", "100B"}, "loss": {"0%", "0.0001%", "50%", "60%"},
	"loss_at": {"before", "after", "sender"}, "loss_back": {"1%", "51%"}, "gemodel": {"0.1% 20%", "1% 30% 90% 1%", "0% 0%", "1%"},
	"super_packets": {"on", "off"}, "pacing": {"auto", "none"}, "ecn": {"off", "on"}, "sndbuf": {"64kB", "1GiB", "1B"}, "rcvbuf": {"64kB", "2GB"},
	"tbf_rate": {"1mbit", "100gbit"}, "tbf_burst": {"10kB", "1B"}, "tbf_limit": {"1MiB", "50ms"},
	"start": {"0s", "10s"}, "size": {"1kB", "1000GB"}, "duration": {"1us", "10s", "86400s"}, "app_rate": {"64kbit", "1bit"},
	"repeat": {"1", "5", "100000"}, "gap": {"1s", "86400s"}, "count": {"1", "3", "0", "257"}, "stagger": {"1s", "86400s"}, "cong": {"reno", "Reno"},
	"sample": {"1ms", "1us"}, "probe": {"none", "10ms"}, "warm_up": {"0s", "1s"}, "limit": {"1s", "100s", "86400s"},
	"first": {"1", "18446744073709551615"}, "max": {"1", "20"}, "half_width": {"5%", "100%"},
}

var generators = []string{"[{at: 1s, rate: 1mbit}]", "[{at: 0s, loss: 1%}, {at: 1s, rtt: 1s}]", "{lte: {attenuation: 20dB, every: 1ms}}",
	"{lte: {seed: 4, outage: 100%, median: 100gbit}}", "{handover: {every: 1s, rates: [1mbit, 8mbit]}}", "{handover: {outage: 0s}}"}

// draw writes some of a section's keys, mostly with their first value, a good one.
func draw(t *rapid.T, keys []string, most int) string {
	var parts []string
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, most, rapid.ID).Draw(t, "keys") {
		parts = append(parts, k+": "+values[k][rapid.SampledFrom([]int{0, 0, 0, 0, 1, len(values[k]) - 1}).Draw(t, k)%len(values[k])])
	}
	return strings.Join(parts, ", ")
}

func drawFile(t *rapid.T) string {
	var b strings.Builder
	arms := rapid.SampledFrom([]string{"[bbr]", "[cubic, bbr]", "[pfifo_fast+cubic, fq+bbr]", "[netem+reno]", "[tbf+cubic, fq+cubic]"}).Draw(t, "arms")
	fmt.Fprintf(&b, "name: p\nabout: q\narms: %s\nfull: %v\nmatrix:\n  x: {y: {}}\n", arms, rapid.Bool().Draw(t, "full"))
	axes := rapid.SliceOfNDistinct(rapid.SampledFrom(append(axisNames(), "main.size", "net.ipv4.tcp_sack")), 0, 2, rapid.ID).Draw(t, "axes")
	for _, a := range axes {
		list := values[a]
		if list == nil {
			list = []string{"1", "2"}
		}
		fmt.Fprintf(&b, "  %s: [%s]\n", a, strings.Join(list[:rapid.IntRange(1, min(3, len(list))).Draw(t, "points")], ", "))
	}
	line := func(name, head string, keys []string, most int) {
		fmt.Fprintf(&b, "%s: {%s}\n", name, strings.Trim(head+", "+draw(t, keys, most), ", "))
	}
	at, tbf := "after", ""
	if strings.Contains(arms, "netem") {
		at = "sender"
	}
	if strings.Contains(arms, "tbf") {
		tbf = "tbf_rate: 1mbit, tbf_limit: 1MiB"
	}
	line("path", "rate: 10mbit, rtt: 20ms, loss_at: "+at, []string{"jitter", "mtu", "bottleneck", "buffer", "burst", "loss", "loss_back", "gemodel"}, 2)
	line("sender", tbf, []string{"super_packets", "pacing", "ecn", "sndbuf", "rcvbuf", "tbf_burst"}, 2)
	line("measure", "", strict.Names(measureKeys), 1)
	line("seeds", "", strict.Names(seedKeys), 1)
	fmt.Fprintf(&b, "flows:\n  - {name: main, %s}\n", strings.Trim("duration: 9s, "+draw(t, []string{"start", "size", "app_rate", "count", "stagger"}, 2), ", "))
	if rapid.Bool().Draw(t, "second") {
		fmt.Fprintf(&b, "  - {name: other, %s}\n", draw(t, strict.Names(flowKeys)[1:], 4))
	}
	if rapid.IntRange(0, 3).Draw(t, "changes") == 0 {
		fmt.Fprintf(&b, "schedule: %s\n", rapid.SampledFrom(generators).Draw(t, "schedule"))
	}
	return b.String()
}

// TestWhateverParsesIsWhole: see checkCells. Enough files must parse for that to
// mean something.
func TestWhateverParsesIsWhole(t *testing.T) {
	read, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := drawFile(t)
		s, err := Parse("p.yml", []byte(text))
		if err != nil {
			refused++
			return
		}
		read++
		checkCells(t, s)
	})
	// With -short rapid draws 20, of which one in a hundred times fewer than two are read.
	if tenth := (read + refused) / 10; !testing.Short() && (read < tenth || refused < tenth) {
		t.Errorf("%d files were read and %d refused: the generator shows nothing", read, refused)
	}
}
