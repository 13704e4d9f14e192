package plan

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
)

func assignArm(salt []byte, p record.Prefix, groupLen int, block int64) record.Arm {
	return NewDraws(salt, 0, 0).Arm(p, groupLen, block)
}

func inHoldout(salt []byte, p record.Prefix, share int) bool {
	return NewDraws(salt, 0, 0).member(domainHoldout, p, share)
}

func inAA(salt []byte, p record.Prefix, share int) bool {
	return NewDraws(salt, 0, 0).member(domainAA, p, share)
}

func mustPrefix(s string) record.Prefix {
	p, err := record.ParsePrefix(s)
	if err != nil {
		panic(err)
	}
	return p
}

//go:embed testdata/arms_vectors.txt
var vectors string

// The vectors were written by testdata/arms_vectors.py with Python's hmac.
func TestArmVectors(t *testing.T) {
	count := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(vectors), "\n") {
		w := strings.Fields(line)
		if w[0] == "#" {
			continue
		}
		salt, err := hex.DecodeString(w[1])
		if err != nil {
			t.Fatal(err)
		}
		if count[w[0]]++; w[0] == "pop" {
			byPoP(t, salt, line)
			continue
		}
		if got := vector(t, salt, mustPrefix(w[2]), w); got != line {
			t.Errorf("line %d:\n want %s\n got  %s", i+1, line, got)
		}
	}
	if count["block"] < 500 || count["pop"] < 200 || count["aa"] < 20 || count["holdout"] < 20 {
		t.Errorf("vectors are missing: %v", count)
	}
}

// byPoP holds a line against the arms of two prefixes.
func byPoP(t *testing.T, salt []byte, line string) {
	var hex, want string
	var group, length int
	var block int64
	if _, err := fmt.Sscanf(line, "pop %s %d %d %d %s", &hex, &group, &length, &block, &want); err != nil {
		t.Fatal(err)
	}
	d := NewDraws(salt, 0, 0).ByPoP(group)
	for _, p := range []string{"198.51.100.0/24", "2001:db8::/56"} {
		if got := d.Arm(mustPrefix(p), length, block).String(); got != want {
			t.Errorf("%s: %s of %s", line, got, p)
		}
	}
}

// vector recomputes the last two words of a line.
func vector(t *testing.T, salt []byte, p record.Prefix, w []string) string {
	d := NewDraws(salt, 0, 0)
	if w[0] != "block" {
		d.start(w[0], p)
		r := int(d.first8() % permille)
		in := map[string]func([]byte, record.Prefix, int) bool{"aa": inAA, "holdout": inHoldout}[w[0]]
		if in(salt, p, r) || !in(salt, p, r+1) {
			t.Errorf("%v: a share of %d has it or one of %d has not", w, r, r+1)
		}
		return fmt.Sprintf("%s %s %s %x %d", w[0], w[1], p, d.msg, r)
	}
	var length int
	var block int64
	if _, err := fmt.Sscan(w[3]+" "+w[4], &length, &block); err != nil {
		t.Fatal(err)
	}
	arm := d.Arm(p, length, block)
	if arm != assignArm(salt, p, length, block) {
		t.Errorf("%v: a fresh draw differs from a used one", w)
	}
	return fmt.Sprintf("block %s %s %d %d %x %s", w[1], p, length, block, d.msg, arm)
}

func TestOneControlBlockInEachGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		salt := rapid.SliceOfN(rapid.Byte(), 16, 64).Draw(t, "salt")
		p := genPrefix().Draw(t, "prefix")
		length := rapid.IntRange(1, 40).Draw(t, "length")
		group := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "group")
		control := 0
		for i := range int64(length) {
			switch arm := assignArm(salt, p, length, group*int64(length)+i); arm {
			case record.ArmControl:
				control++
			case record.ArmTreatment:
			default:
				t.Fatalf("arm %s", arm)
			}
		}
		if control != 1 {
			t.Fatalf("%d control blocks in a group of %d", control, length)
		}
	})
}

// controlIndex finds which block of a group is the control block.
func controlIndex(salt []byte, p record.Prefix, length int, group int64) int {
	for i := range length {
		if assignArm(salt, p, length, group*int64(length)+int64(i)) == record.ArmControl {
			return i
		}
	}
	return -1
}

func randomPrefixes(n int) []record.Prefix {
	rng := rand.New(rand.NewPCG(7, 11))
	out := make([]record.Prefix, n)
	for i := range out {
		v := rng.Uint64()
		a := netip.AddrFrom4([4]byte{byte(v), byte(v >> 8), byte(v >> 16), 0})
		if i%2 == 1 {
			a = netip.AddrFrom16([16]byte{0x20, byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), byte(v >> 32), byte(v >> 40)})
		}
		out[i], _ = record.PrefixOf(a)
	}
	return out
}

// chiSquare of counts against equal shares.
func chiSquare(counts []int) (x float64) {
	total := 0
	for _, c := range counts {
		total += c
	}
	want := float64(total) / float64(len(counts))
	for _, c := range counts {
		x += (float64(c) - want) * (float64(c) - want) / want
	}
	return x
}

// Critical values are those of 0.1 %: the seeds are fixed, so the test either
// always passes or the hash is bad.
func TestControlBlockIsUniform(t *testing.T) {
	salt := []byte("a salt of 16 byt")
	group := int64(noon / 1800 / 8)
	single, pairs := make([]int, 8), make([]int, 64)
	for _, p := range randomPrefixes(4000) {
		i, j := controlIndex(salt, p, 8, group), controlIndex(salt, p, 8, group+1)
		single[i]++
		pairs[i*8+j]++
	}
	if x := chiSquare(single); x > 24.3 { // 7 degrees of freedom
		t.Errorf("over prefixes: chi-square %.1f of %v", x, single)
	}
	if x := chiSquare(pairs); x > 103.4 { // 63
		t.Errorf("over consecutive groups: chi-square %.1f of %v", x, pairs)
	}
	p, times := mustPrefix("203.0.113.0/24"), make([]int, 2)
	for g := range int64(4000) {
		times[controlIndex(salt, p, 2, g)]++
	}
	if x := chiSquare(times); x > 10.8 { // 1
		t.Errorf("over time: chi-square %.1f of %v", x, times)
	}
}

func TestSharesOfHoldoutAndAA(t *testing.T) {
	salt := []byte("a salt of 16 byt")
	var holdout, aa, both int
	const n = 20_000
	for _, p := range randomPrefixes(n) {
		h, a := inHoldout(salt, p, 50), inAA(salt, p, 50)
		if h {
			holdout++
		}
		if a {
			aa++
		}
		if h && a {
			both++
		}
		if inHoldout(salt, p, 0) || !inHoldout(salt, p, 1000) {
			t.Fatal("a share of 0 or 1000 permille is not none or all")
		}
	}
	// Mean 1000 and 50; four standard deviations are 123 and 28.
	if holdout < 877 || holdout > 1123 || aa < 877 || aa > 1123 || both < 22 || both > 78 {
		t.Errorf("of %d prefixes %d hold-out, %d A/A, %d both", n, holdout, aa, both)
	}
}

func TestBlock(t *testing.T) {
	for _, c := range []struct{ unix, seconds, index, start, end int64 }{
		{0, 1800, 0, 0, 1800},
		{1799, 1800, 0, 0, 1800},
		{1800, 1800, 1, 1800, 3600},
		{-1, 1800, -1, -1800, 0},
		{-1800, 1800, -1, -1800, 0},
		{noon, 1800, 997320, noon, noon + 1800},
		{5, 0, 0, 0, 0},
		{5, -3, 0, 0, 0},
	} {
		i, s, e := Block(c.unix, c.seconds)
		if i != c.index || s != c.start || e != c.end {
			t.Errorf("Block(%d, %d) = %d, %d, %d", c.unix, c.seconds, i, s, e)
		}
	}
}

func TestArmAt(t *testing.T) {
	p := testPlan()
	in, out := mustPrefix("203.0.113.0/24"), mustPrefix("198.51.100.0/24")
	p.Entries = []Entry{{Prefix: in, State: StateSelected}}
	if arm, ok := p.ArmAt(out, noon); ok || arm != record.ArmNone {
		t.Errorf("not in the plan: %s %v", arm, ok)
	}
	for unix := int64(noon); unix < noon+8*1800; unix += 899 {
		arm, ok := p.ArmAt(in, unix)
		if want := assignArm(p.Salt, in, 8, unix/1800); !ok || arm != want {
			t.Errorf("at %d: %s %v, want %s", unix, arm, ok, want)
		}
	}
	p.Experiment, p.GroupSettled, p.Entries[0].State = ExperimentOn, 24, StateTrial
	p.HoldoutPermille, p.AAPermille = 0, 0
	for state, length := range map[string]int{StateTrial: 2, StatePromoted: 8, StateSettled: 24} {
		p.Entries[0].State = state
		for block := int64(997320); block < 997320+24; block++ {
			if arm, _ := p.ArmAt(in, block*1800); arm != assignArm(p.Salt, in, length, block) {
				t.Errorf("%s, block %d: %s", state, block, arm)
			}
		}
	}
	for state, want := range map[string]record.Arm{StateHoldout: record.ArmHoldout, StateAA: record.ArmAA} {
		p.Entries[0].State = state
		if arm, _ := p.ArmAt(in, noon); arm != want {
			t.Errorf("named %s: %s", state, arm)
		}
	}
	p.Entries[0].State = StateTrial
	p.AAPermille = 1000
	if arm, _ := p.ArmAt(in, noon); arm != record.ArmAA {
		t.Errorf("all A/A: %s", arm)
	}
	p.HoldoutPermille = 1000
	if arm, _ := p.ArmAt(in, noon); arm != record.ArmHoldout {
		t.Errorf("hold-out goes first: %s", arm)
	}
	for _, p.Experiment = range []string{ExperimentOn, ExperimentOff} { // what is listed is drawn for nothing
		for block := int64(997320); block < 997320+24; block++ {
			p.Entries[0].State = StateAlways
			if arm, _ := p.ArmAt(in, block*1800); arm != assignArm(p.Salt, in, 8, block) {
				t.Errorf("always, experiment %s, block %d: %s", p.Experiment, block, arm)
			}
			p.Entries[0].State = StateUncontrolled
			if arm, _ := p.ArmAt(in, block*1800); arm != record.ArmTreatment {
				t.Errorf("uncontrolled, experiment %s, block %d: %s", p.Experiment, block, arm)
			}
		}
	}
	p.Entries[0].State = StateTrial
	p.BlockSeconds = 0
	if arm, ok := p.ArmAt(in, noon); !ok || arm != record.ArmUnknown {
		t.Errorf("no block length: %s %v", arm, ok)
	}
	if arm := assignArm(p.Salt, in, 0, 1); arm != record.ArmUnknown {
		t.Errorf("no group length: %s", arm)
	}
}

// TestDraws: who decides by the draws sees the arms that the plan's readers see.
func TestDraws(t *testing.T) {
	p := testPlan()
	p.Experiment = ExperimentOn
	p.HoldoutPermille, p.AAPermille = 300, 300
	d := NewDraws(p.Salt, p.HoldoutPermille, p.AAPermille)
	roles := map[record.Arm]int{}
	for i := range 200 {
		in := record.Prefix(0xc6120000+uint64(i)<<8) | 24
		p.Entries = []Entry{{Prefix: in, State: StatePromoted}}
		for block := int64(997320); block < 997320+24; block++ {
			want := d.Role(in)
			if want == record.ArmNone {
				want = d.Arm(in, p.GroupPromoted, block)
			}
			if arm, _ := p.ArmAt(in, block*1800); arm != want {
				t.Fatalf("%s, block %d: plan %s, draws %s", in, block, arm, want)
			}
		}
		roles[d.Role(in)]++
	}
	if len(roles) != 3 {
		t.Errorf("roles %v, want all three", roles)
	}
}

// TestAllNetworks: without an entry of its own a network follows that of all, whose blocks are drawn once for the whole PoP.
func TestAllNetworks(t *testing.T) {
	own, other, third := mustPrefix("203.0.113.0/24"), mustPrefix("198.51.100.0/24"), mustPrefix("2001:db8::/56")
	p := &Plan{PoP: "ams1", Serial: 1, Created: 1000, Expires: 1e9, Treatment: "bbr", MinBytes: 1, BlockSeconds: 600, Experiment: ExperimentOn, GroupTrial: 2, GroupPromoted: 16,
		GroupSettled: 24, Salt: make([]byte, 16), CapRule: CapRuleNone, Entries: []Entry{
			{Prefix: record.All, Cong: "bbr", State: StateAlways, Since: 1, Reason: "policy.select is all"},
			{Prefix: own, Cong: "bbr", State: StateTrial, Since: 1, Reason: "tried"},
		}}
	again, _, err := Parse(p.Text())
	if err != nil || again.Hash() != p.Hash() {
		t.Fatalf("%v\n%s", err, p.Text())
	}
	if err := Validate(again, nil, Limits{PoP: "ams1", Max: 2, Congs: []string{"bbr"}, Now: 1000}); err != nil {
		t.Error(err)
	}
	control, apart := 0, false
	for block := range int64(16) {
		arm, in := again.ArmAt(other, block*600)
		if same, _ := again.ArmAt(third, block*600); !in || same != arm {
			t.Errorf("block %d: %s and %s, %t", block, arm, same, in)
		}
		if arm == record.ArmControl {
			control++
		}
		mine, _ := again.ArmAt(own, block*600)
		apart = apart || mine != arm
	}
	if control != 1 || !apart {
		t.Errorf("%d control blocks of 16; its own draws differ: %t", control, apart)
	}
	for _, state := range []string{StateTrial, StatePromoted, StateHoldout, StateAA} {
		p.Entries[0].State = state
		if err := Validate(p, nil, Limits{PoP: "ams1", Max: 2, Congs: []string{"bbr"}, Now: 1000}); err == nil || !strings.Contains(err.Error(), `all networks at once are "always" or "uncontrolled"`) {
			t.Errorf("%s: %v", state, err)
		}
	}
}
