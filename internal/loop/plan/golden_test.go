package plan

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/tcp/record"
)

// noon is 2026-11-20T12:00:00Z, a block's start.
const noon = 1_795_176_000

var testKey = ed25519.NewKeyFromSeed([]byte("the seed of a key for tests only"))

func testPub() ed25519.PublicKey { return testKey.Public().(ed25519.PublicKey) }

// testPlan has every header field set and no entries.
func testPlan() *Plan {
	return &Plan{
		PoP: "ams1", Serial: 17, Created: noon, Expires: noon + 3600, Treatment: "bbr", MinBytes: 100_000,
		BlockSeconds: 1800, WashoutSeconds: 300, Experiment: ExperimentOff,
		GroupTrial: DefaultGroupTrial, GroupPromoted: 8,
		HoldoutPermille: 50, AAPermille: 50,
		Salt: []byte("sixteen bytes or"), CapRule: CapRuleNone,
	}
}

// golden keeps the plans that a script names.
type golden map[string]*Plan

func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		g := golden{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "plan":
				return g.plan(t, d)
			case "text":
				return string(g.get(t, d, "name").Text())
			case "sign":
				return string(g.get(t, d, "name").Sign(testKey))
			case "edit":
				return g.edit(t, d)
			case "parse":
				return parsed([]byte(strings.ReplaceAll(d.Input, `\r`, "\r") + "\n"))
			case "validate":
				return g.validate(t, d)
			case "diff":
				return Compare(g.get(t, d, "from"), g.get(t, d, "to")).Text()
			case "program":
				return g.program(t, d)
			case "export":
				return g.export(t, d)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func arg(t *testing.T, d *datadriven.TestData, key, otherwise string) string {
	if d.HasArg(key) {
		d.ScanArgs(t, key, &otherwise)
	}
	return otherwise
}

func number64(t *testing.T, d *datadriven.TestData, key string, otherwise int64) int64 {
	v, err := strconv.ParseInt(arg(t, d, key, strconv.FormatInt(otherwise, 10)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (g golden) get(t *testing.T, d *datadriven.TestData, key string) *Plan {
	name := arg(t, d, key, "")
	if name == "" || name == "none" {
		return nil
	}
	if g[name] == nil {
		t.Fatalf("no plan %q", name)
	}
	return g[name]
}

// plan builds a plan from the test's defaults, arguments named like header
// lines, and lines "prefix cong state cap reason" or "repeat from to cong", with "capped" a cap each.
func (g golden) plan(t *testing.T, d *datadriven.TestData) string {
	p := testPlan()
	for _, a := range d.CmdArgs {
		for _, f := range header {
			if a.Key == f.name {
				if err := f.read(p, strings.Join(a.Vals, " ")); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, line := range strings.Split(d.Input, "\n") {
		w := strings.SplitN(line, " ", 5)
		switch {
		case line == "":
		case w[0] == "repeat":
			g.repeat(t, p, w)
		default:
			p.Entries = append(p.Entries, g.entry(t, w))
		}
	}
	if !d.HasArg("unsorted") {
		p.Sort()
	}
	g[arg(t, d, "name", "")] = p
	return fmt.Sprintf("%d entries\n", len(p.Entries))
}

func (g golden) entry(t *testing.T, w []string) Entry {
	pfx, err := record.ParsePrefix(w[0])
	if err != nil {
		t.Fatal(err)
	}
	limit, err := parseCap(w[3])
	if err != nil {
		t.Fatal(err)
	}
	// Without a fifth word the reason is empty; escapes stand for what a script cannot hold.
	reason, err := strconv.Unquote(`"` + strings.Join(w[4:], "") + `"`)
	if err != nil {
		t.Fatal(err)
	}
	return Entry{Prefix: pfx, Cong: w[1], State: w[2], Since: noon - 300, CapBytesPerS: limit, Reason: reason}
}

// repeat adds n entries 198.18.<from>.0/24, ...
func (g golden) repeat(t *testing.T, p *Plan, w []string) {
	from, _ := strconv.Atoi(w[1])
	to, err := strconv.Atoi(w[2])
	if err != nil {
		t.Fatal(err)
	}
	for i := from; i < to; i++ {
		pfx, _ := record.PrefixOf(netip.AddrFrom4([4]byte{198, 18, byte(i), 0}))
		e := Entry{Prefix: pfx, Cong: w[3], State: StateSelected, Since: noon - 300, Reason: "r"}
		if len(w) > 4 {
			e.CapBytesPerS = uint64(1000 * (i + 1))
		}
		p.Entries = append(p.Entries, e)
	}
}

// edit replaces line=N (to line=N..M) of a signed plan by the input, keeps the
// hash right unless told not to, and parses.
func (g golden) edit(t *testing.T, d *datadriven.TestData) string {
	lines := strings.Split(strings.TrimSuffix(string(g.get(t, d, "name").Sign(testKey)), "\n"), "\n")
	from := int(number64(t, d, "line", 0)) - 1
	to := int(number64(t, d, "to", int64(from+1)))
	var in []string
	if d.Input != "" {
		in = strings.Split(strings.ReplaceAll(d.Input, `\r`, "\r"), "\n")
	}
	lines = slices.Replace(lines, from, to, in...)
	if !d.HasArg("keep-hash") {
		rehash(lines)
	}
	return parsed([]byte(strings.Join(lines, "\n") + "\n"))
}

func rehash(lines []string) {
	for i, l := range lines {
		if strings.HasPrefix(l, hashPrefix) {
			lines[i] = hashPrefix + hashOf([]byte(strings.Join(lines[:i], "\n")+"\n"))
		}
	}
}

func parsed(b []byte) string {
	p, sig, err := Parse(b)
	if err != nil {
		return err.Error() + "\n"
	}
	if sig == nil {
		return fmt.Sprintf("ok: serial %d, %d entries, not signed\n", p.Serial, len(p.Entries))
	}
	return fmt.Sprintf("ok: serial %d, %d entries, key %s\n", p.Serial, len(p.Entries), sig.KeyID)
}

func (g golden) validate(t *testing.T, d *datadriven.TestData) string {
	l := limitsOf(arg(t, d, "pop", "ams1"), strings.Split(arg(t, d, "congs", "reno,cubic,bbr"), ","), number64(t, d, "now", noon+60))
	l.Max = int(number64(t, d, "max", 500))
	for _, key := range []string{"deny", "allow"} {
		if s := arg(t, d, key, ""); s != "" {
			r := netip.MustParsePrefix(s)
			if key == "deny" {
				l.Deny = append(l.Deny, r)
			} else {
				l.Allow = append(l.Allow, r)
			}
		}
	}
	if err := Validate(g.get(t, d, "name"), g.get(t, d, "prev"), l); err != nil {
		return err.Error() + "\n"
	}
	return "ok\n"
}

// program prints the map values relative to the moment, in seconds.
func (g golden) program(t *testing.T, d *datadriven.TestData) string {
	const boot = 1_000_000 * second
	now := number64(t, d, "unix", noon)
	prog := g.get(t, d, "name").Program(now*second, boot, number64(t, d, "ttl", 900)*second)
	var s strings.Builder
	fmt.Fprintf(&s, "plan %d, min %d bytes\n", prog.Plan, prog.MinBytes)
	rel := func(ns uint64) float64 { return float64(int64(ns)-boot) / second }
	for _, e := range prog.Entries {
		v := e.Policy
		role := map[bool]string{true: " with the default"}[v.Role == record.ArmAA]
		fmt.Fprintf(&s, "%s %s cap %d%s: %s, in %g s %s, until %g s, expires %g s, plan %d\n", e.Prefix, v.Cong, v.CapBytesPerS, role,
			v.ArmNow, rel(v.SwitchNs), v.ArmNext, rel(v.UntilNs), rel(v.ExpiresNs), v.Plan)
	}
	return s.String()
}

// export prints a plan's export, of its signed file unless told not to; the form json is its JSON.
func (g golden) export(t *testing.T, d *datadriven.TestData) string {
	p, sig, err := Parse(g.get(t, d, "name").Sign(testKey))
	if err != nil {
		t.Fatal(err)
	}
	if d.HasArg("unsigned") {
		sig = nil
	}
	x, err := p.Export(sig, number64(t, d, "unix", noon), d.HasArg("every"))
	if err != nil {
		return err.Error() + "\n"
	}
	if d.HasArg("stopped") {
		x.Stop()
	}
	form := arg(t, d, "form", FormNginxGeo)
	if form == "json" {
		text, err := json.MarshalIndent(x, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	text, err := x.Text(form)
	if err != nil {
		return err.Error() + "\n"
	}
	return text
}
