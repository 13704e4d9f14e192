package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/tcp/record"
)

// noon is 2026-11-20T12:00:00Z, the start of a window.
const noon = 1_795_176_000

// letter returns the prefix that a script calls by a letter: a is 198.18.1.0/24,
// z is 198.18.26.0/24; - is none. Anything else is read as a prefix.
func letter(t testing.TB, s string) record.Prefix {
	if s == "-" {
		return 0
	}
	if len(s) == 1 && s[0] >= 'a' && s[0] <= 'z' {
		p, _ := record.PrefixOf(netip.AddrFrom4([4]byte{198, 18, s[0] - 'a' + 1, 0}))
		return p
	}
	p, err := record.ParsePrefix(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// quiet is a control row that no guard minds.
func quiet(start int64, p record.Prefix, n uint32, rate float64) record.Window {
	return record.Window{Start: start, Prefix: p, Cong: "cubic", Control: true, Conns: n, Eligible: n, RateMeans: n, Bytes: uint64(n) * 1_000_000,
		RateBytesPerS: [5]float64{rate / 4, rate / 3, rate / 2, rate, 2 * rate}, MinRTTUs: 30_000, SRTTUs: 40_000,
		RetransShare: 0.0078125, RwndShare: 0.0625, BusyShare: 0.875,
		LogRateMean: logOf(rate), LogRateVar: 0.4356, EligibleSentBytes: uint64(n) * 1_000_000, EligibleRetransBytes: uint64(n) * 7_812}
}

// halfHour is a script's block, seconds: long enough to be told from a window at sight.
const halfHour = 1800

// play is one script's engine, its rows and its clock.
type play struct {
	t      *testing.T
	rules  Rules
	engine *Engine
	rows   []record.Window
	next   int64 // start of the next window

	under map[record.Prefix]treated // what treatment does, with the experiment
	plan  []Selected                // after the last round
}

// byLevel makes an engine without an experiment.
func byLevel(r Rules) *Engine {
	return New(r.ByLevel(), nil)
}

// TestScripts plays simulated hours that a person can check by hand.
//
//	rules     lines "field value", from the defaults by level, without a cap and with blocks of half an hour; a new engine
//	window    lines "letter NxRATE key=value...": N eligible connections at RATE kB/s in
//	          each window from here on (0x0: rows without an eligible one)
//	round     runs them; times= rounds, skip= windows missed before, start= an absolute
//	          start, unknown= starved= frozen default stopped as in Input, events: only
//	          rounds that have some
//	names     lines "letter name": the networks of the prefixes
//	explain, rows, json
//	cap       the pacing cap of a prefix, as explain has it
//
// With select "benefit" among the rules, rows follow the plan: a window line's
// effect= multiplies the rates, tgoodput= goodput where it is not the same, and tretrans= sets
// the retransmitted share while the prefix is under treatment; with "cap true", late=NxP50:P95 and capped=NxP50:P95 set
// the late rates, kB/s, of N uncapped and N capped connections, and cretrans= the share of the latter. The first block of each
// group is the control block.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/policy", func(t *testing.T, path string) {
		p := &play{t: t, rules: DefaultRules(), engine: byLevel(DefaultRules()), next: noon}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			p.t = t
			switch d.Cmd {
			case "rules":
				return p.setRules(d)
			case "window":
				return p.window(d)
			case "names":
				p.engine.Name(p.names(d))
				return ""
			case "round":
				return p.round(d)
			case "explain":
				x, ok := p.engine.Explain(letter(t, d.CmdArgs[0].Key))
				if !ok {
					return "not tracked\n"
				}
				return x.Text()
			case "cap":
				x, _ := p.engine.Explain(letter(t, d.CmdArgs[0].Key))
				var b strings.Builder
				x.capText(&b)
				return strings.TrimPrefix(b.String(), "\n")
			case "json":
				return p.json(d)
			case "rows":
				return p.table()
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func (p *play) setRules(d *datadriven.TestData) string {
	p.rules = DefaultRules().ByLevel()
	p.rules.Trial.BlockSeconds = halfHour
	for _, line := range strings.Split(d.Input, "\n") {
		name, value, _ := strings.Cut(line, " ")
		doc := value
		for _, part := range reversed(strings.Split(name, ".")) {
			doc = fmt.Sprintf("{%q: %s}", part, doc)
		}
		dec := json.NewDecoder(strings.NewReader(doc))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&p.rules); err != nil {
			p.t.Fatalf("%s: %v", d.Pos, err)
		}
	}
	if err := p.rules.Validate(); err != nil {
		return err.Error() + "\n"
	}
	p.start()
	return "ok\n"
}

// called is what prefixes are called.
type called map[record.Prefix]string

func (c called) Of(p record.Prefix) string { return c[p] }

func (p *play) names(d *datadriven.TestData) called {
	c := called{}
	for _, line := range strings.Split(d.Input, "\n") {
		who, name, _ := strings.Cut(line, " ")
		c[letter(p.t, who)] = name
	}
	return c
}

func reversed(s []string) []string {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
	return s
}

func (p *play) window(d *datadriven.TestData) string {
	p.rows, p.under = nil, map[record.Prefix]treated{}
	for _, line := range strings.Split(d.Input, "\n") {
		if line == "" {
			continue
		}
		w := strings.Fields(line)
		n, rate, _ := strings.Cut(w[1], "x")
		row := quiet(0, letter(p.t, w[0]), uint32(p.number(n)), 1000*p.number(rate))
		for _, kv := range w[2:] {
			p.set(&row, kv)
		}
		row.EligibleRetransBytes = uint64(row.RetransShare * float64(row.EligibleSentBytes))
		p.rows = append(p.rows, row)
	}
	return fmt.Sprintf("%d rows\n", len(p.rows))
}

func (p *play) number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p *play) set(row *record.Window, kv string) {
	key, value, _ := strings.Cut(kv, "=")
	if p.setTreated(row.Prefix, key, value) {
		return
	}
	if key == "arm" {
		if err := row.Arm.UnmarshalText([]byte(value)); err != nil {
			p.t.Fatal(err)
		}
		row.Control = row.Arm == record.ArmControl
		if !row.Control {
			row.Cong = "bbr"
		}
		return
	}
	v := p.number(value)
	switch key {
	case "conns":
		row.Conns = uint32(v)
	case "rtt_ms":
		row.MinRTTUs, row.SRTTUs = 1000*v, 1000*v
	case "retrans":
		row.RetransShare = v
	case "episodes":
		row.Episodes = uint64(v)
	case "goodput": // kB/s over busy time
		row.LogGoodputMean, row.LogGoodputVar = math.Log(1000*v), row.LogRateVar
	case "rwnd":
		row.RwndShare = v
	case "busy":
		row.BusyShare = v
	case "flat": // p20 and p80 at this part below and above the median
		row.RateBytesPerS[record.Q20], row.RateBytesPerS[record.Q80] = row.RateBytesPerS[record.Q50]*(1-v), row.RateBytesPerS[record.Q50]*(1+v)
	case "shift": // start of the row against its window's
		row.Start = int64(v)
	default:
		p.t.Fatalf("unknown key %q", key)
	}
}

func (p *play) round(args *datadriven.TestData) string {
	times, skip := int64(1), int64(0)
	for key, v := range map[string]*int64{"times": &times, "skip": &skip, "start": &p.next} {
		if args.HasArg(key) {
			args.ScanArgs(p.t, key, v)
		}
	}
	p.next += skip * p.rules.WindowSeconds
	var lines []string
	for range times {
		in := Input{Start: p.next, RoundStart: p.next + p.rules.WindowSeconds, Frozen: args.HasArg("frozen"), TreatmentIsDefault: args.HasArg("default"),
			Stopped: args.HasArg("stopped")}
		for key, v := range map[string]*string{"unknown": &in.Unknown, "starved": &in.Starved} {
			for _, a := range args.CmdArgs {
				if a.Key == key {
					*v = strings.ReplaceAll(strings.Join(a.Vals, " "), "_", " ")
				}
			}
		}
		for _, r := range p.rows {
			r.Start += p.next
			in.Rows = append(in.Rows, p.asPlanned(r))
			if capped, ok := p.cappedOf(in.Rows[len(in.Rows)-1]); ok {
				in.Rows = append(in.Rows, capped)
			}
		}
		d := p.engine.Round(in)
		p.plan = d.Selection
		if !args.HasArg("events") || len(d.Events) > 0 {
			lines = append(lines, clockText(in.RoundStart)+decisionText(d))
		}
		p.next += p.rules.WindowSeconds
	}
	return collapse(lines)
}

func decisionText(d Decision) string {
	var b strings.Builder
	boundary := "-"
	if d.BoundaryBytesPerS > 0 {
		boundary = fmt.Sprintf("%.1f", d.BoundaryBytesPerS/1000)
	}
	fmt.Fprintf(&b, "  known %d ranked %d boundary %s in-group %d | selected %d new %d released %d refused %d",
		d.Known, d.Ranked, boundary, d.InGroup, d.Selected, d.New, d.Released, d.Refused)
	if d.Note != "" {
		fmt.Fprintf(&b, " | %s", d.Note)
	}
	b.WriteByte('\n')
	for _, ev := range d.Events {
		fmt.Fprintf(&b, "    %s", ev.Kind)
		if ev.Prefix != 0 {
			fmt.Fprintf(&b, " %s", ev.Prefix)
		}
		if ev.Guard != "" {
			fmt.Fprintf(&b, " (%s)", ev.Guard)
		}
		fmt.Fprintf(&b, ": %s\n", ev.Reason)
	}
	return b.String()
}

// collapse prints rounds that differ only in time once.
func collapse(lines []string) string {
	const clock = len("01-02 15:04:05")
	var b strings.Builder
	for i := 0; i < len(lines); {
		n := 1
		for i+n < len(lines) && lines[i+n][clock:] == lines[i][clock:] {
			n++
		}
		b.WriteString(lines[i])
		if n > 1 {
			fmt.Fprintf(&b, "    and %d more like it until %s\n", n-1, lines[i+n-1][:clock])
		}
		i += n
	}
	return b.String()
}

func (p *play) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-18s %-9s %-12s %8s %3s %5s %5s %6s %5s %5s %7s %7s\n",
		"prefix", "state", "guard", "kB/s", "n", "now", "group", "known", "duty", "flap", "rtt ms", "retrans")
	for _, r := range p.engine.Rows() {
		fmt.Fprintf(&b, "%-18s %-9s %-12s %8.1f %3d %5t %5t %6d %5.2f %5.2f %7.1f %7.4f\n", r.Prefix, r.State, r.Guard,
			r.PerfBytesPerS/1000, r.Conns, r.KnownNow, r.InGroup, r.Known, r.Duty, r.Flap, r.MinRTTUs/1000, r.RetransShare)
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

func (p *play) json(d *datadriven.TestData) string {
	x, _ := p.engine.Explain(letter(p.t, d.CmdArgs[0].Key))
	b, err := json.MarshalIndent(x, "", " ")
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b) + "\n"
}
