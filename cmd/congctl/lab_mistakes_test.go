package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/lab/kernel/vm"
	"github.com/congctl/congctl/internal/lab/kernel/world"
	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// A mistake makes the real world another one than the cell that is judged. Every
// author of a lab has made some of these, and published the result.
type mistake struct {
	name  string
	base  string // which honest cell
	world func(*scenario.Cell)
	gate  string // that must break
}

// honest cells are small: 700 packets, a second.
const honestText = `
name: mistakes
about: for tests
arms: [bbr]
matrix:
  kind:
    lossy: {path: {loss: 2%, loss_at: before}}
    clean: {path: {rate: 10mbit}}
    bucket: {path: {bottleneck: tbf, burst: 10kB}}
    shallow: {path: {buffer: 10p}}
    far: {path: {rtt: 100ms}}
    unpaced: {sender: {pacing: none}}
    mixed: {path: {reorder: 5%}}
path: {rate: 10mbit, rtt: 20ms, buffer: 4bdp}
flows:
  - {size: 1MB}
measure: {limit: 10s}
`

var mistakes = []mistake{
	{"four times the loss", "lossy", func(c *scenario.Cell) { c.Path.Loss.PPM *= 4 }, "loss"},
	{"per cent taken for a share", "lossy", func(c *scenario.Cell) { c.Path.Loss.PPM /= 100 }, "loss"},
	{"netem on the sender's own link", "lossy", func(c *scenario.Cell) {
		c.Path.Loss.At, c.Sender.Qdisc = scenario.LossSender, "netem"
	}, "emulator_at_sender"},
	{"loss on the other side of the bottleneck", "lossy", func(c *scenario.Cell) { c.Path.Loss.At = scenario.LossAfter }, "qdisc"},
	{"super-packets where packets are lost", "lossy", func(c *scenario.Cell) { c.Sender.SuperPackets = true }, "single_mtu"},
	{"jumbo frames", "clean", func(c *scenario.Cell) { c.Path.MTU = 9000 }, "single_mtu"},
	{"another congestion control", "clean", func(c *scenario.Cell) { c.Flows[0].Cong = "cubic" }, "cong"},
	{"bytes for bits", "clean", func(c *scenario.Cell) { c.Path.RateBitPerS *= 8 }, "rate"},
	{"bits for bytes", "clean", func(c *scenario.Cell) { c.Path.RateBitPerS /= 8 }, "rate"},
	{"the whole round trip in each direction", "clean", func(c *scenario.Cell) { c.Path.RTTUs *= 2 }, "idle_rtt"},
	{"small receive buffer", "clean", func(c *scenario.Cell) { c.Sender.RcvbufBytes = 16 << 10 }, "rwnd_limited"},
	{"small send buffer", "far", func(c *scenario.Cell) { c.Sender.SndbufBytes = 8 << 10 }, "sndbuf_limited"},
	{"netem's default limit for a buffer", "shallow", func(c *scenario.Cell) { c.Path.BufferPacket = 1000 }, "buffer"},
	{"the sender's qdisc is the default one", "clean", func(c *scenario.Cell) { c.Sender.Qdisc = "pfifo_fast" }, "qdisc"},
	{"another bottleneck", "bucket", func(c *scenario.Cell) { c.Path.Bottleneck, c.Path.BurstBytes = "netem", 0 }, "qdisc"},
	{"a bucket smaller than a packet", "bucket", func(c *scenario.Cell) { c.Path.BurstBytes = 1000 }, "finished"},
	{"acknowledgements are lost as well", "clean", func(c *scenario.Cell) { c.Path.Loss.BackPPM = 100_000 }, "limit_drops"},
	{"metrics of earlier connections", "clean", func(c *scenario.Cell) {
		c.Sysctls = map[string]string{"net.ipv4.tcp_no_metrics_save": "0"}
	}, "metrics"},
	{"TCP paces", "unpaced", func(c *scenario.Cell) { c.Sender.Pacing = scenario.PacingAuto }, "pacing"},
	{"packets in order", "mixed", func(c *scenario.Cell) { c.Path.ReorderPPM = 0 }, "reorder"},
	{"half of the transfer", "clean", func(c *scenario.Cell) { c.Flows[0].Bytes /= 2 }, "finished"},
}

// TestLabMistakes: the real world with a mistake in it is told from the honest one.
func TestLabMistakes(t *testing.T) {
	m := programMachine(t)
	s, err := scenario.Parse("mistakes.yml", []byte(honestText))
	check(t, err)
	byKind := map[string]*scenario.Cell{}
	for i := range s.Cells {
		byKind[s.Cells[i].Axes[0].Value] = &s.Cells[i]
	}
	cells := slices.Clone(s.Cells) // the honest ones first
	for _, k := range mistakes {
		cells = append(cells, clone(t, byKind[k.base]))
		k.world(&cells[len(cells)-1])
	}
	runs := runCells(t, m, cells)
	for i := range s.Cells {
		if r := outcome.Judge(s, &s.Cells[i], &runs[i]); !r.Valid {
			t.Errorf("honest %s: broken %v", s.Cells[i].ID, broken(r))
		}
	}
	for i, k := range mistakes {
		r := outcome.Judge(s, byKind[k.base], &runs[len(s.Cells)+i])
		if names := broken(r); r.Valid || !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, k.gate+":") }) {
			t.Errorf("%s: gate %s holds; broken: %q", k.name, k.gate, names)
		}
	}
}

// TestLabSaturatedGuest: a rate that the machine cannot carry makes the CPU the bottleneck.
func TestLabSaturatedGuest(t *testing.T) {
	t.Parallel()
	m := needMachine(t)
	m.CPU = 1 // beside TestLabMistakes
	s, err := scenario.Parse("saturated.yml", []byte(`
name: saturated
about: for tests
arms: [bbr]
matrix: {rate: [2gbit]}
path: {rtt: 2ms, buffer: 1bdp}
flows:
  - {size: 20MB}
`))
	check(t, err)
	run := runCells(t, m, s.Cells)[0]
	if r := outcome.Judge(s, &s.Cells[0], &run); r.Valid || !slices.ContainsFunc(broken(r), func(n string) bool { return strings.HasPrefix(n, "cpu:") }) {
		t.Errorf("CPU %.3f busy: broken %v", run.Host.BusyShare, broken(r))
	}
}

// clone shares nothing with c.
func clone(t *testing.T, c *scenario.Cell) (out scenario.Cell) {
	t.Helper()
	b, err := json.Marshal(c)
	check(t, err)
	check(t, json.Unmarshal(b, &out))
	return out
}

// runCells runs them one after another in one machine.
func runCells(t *testing.T, m vm.Machine, cells []scenario.Cell) (runs []outcome.Run) {
	t.Helper()
	var err error
	m.Job, err = json.Marshal(world.Job{Cells: cells, Seed: 1})
	check(t, err)
	out, err := vm.Run(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d cells in %s of the machine's clock, %s of ours", len(cells), out.Times.Ended, out.Wall)
	for d := json.NewDecoder(bytes.NewReader(out.Report)); d.More(); {
		var r outcome.Run
		check(t, d.Decode(&r))
		runs = append(runs, r)
	}
	if len(runs) != len(cells) {
		t.Fatalf("%d runs of %d cells", len(runs), len(cells))
	}
	return runs
}

// broken are the gates that a result broke, with what they saw.
func broken(r outcome.Result) (names []string) {
	for _, g := range r.Gates {
		if !g.OK {
			names = append(names, g.Name+": "+g.Got)
		}
	}
	return names
}
