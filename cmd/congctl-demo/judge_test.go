package main

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/record"
)

const second = int64(time.Second)

// testBook has one prefix in the plan from 1000 s on, blocks of 18 s, and the
// kill switch pulled from 1100 to 1110 s.
func testBook(t *testing.T) (*book, record.Prefix) {
	t.Helper()
	p, err := record.ParsePrefix("198.18.0.0/24")
	if err != nil {
		t.Fatal(err)
	}
	b := newBook()
	b.planned(&plan.Plan{BlockSeconds: 18, GroupPromoted: 8, GroupTrial: 2, Experiment: plan.ExperimentOff, Salt: plan.Salt("0123456789abcdef"),
		Created: 1000, Entries: []plan.Entry{{Prefix: p, Cong: treatment, Since: 1000}}})
	b.stopped(time.Unix(1100, 0))
	b.resumed(time.Unix(1110, 0))
	return b, p
}

// The phases agree with a walk over the arms, second by second.
func TestPhaseFollowsPlanArmAndSwitch(t *testing.T) {
	b, p := testBook(t)
	salt := plan.Salt("0123456789abcdef")
	count := map[phase]int{}
	for s := int64(980); s < 1300; s++ {
		want := phaseTreat
		switch {
		case s < 1000:
			want = phaseBefore
		case plan.AssignArm(salt, p, 8, s/18) == record.ArmControl:
			want = phaseControl
		case s >= 1100 && s < 1110:
			want = phaseStopped
		case s >= 1110:
			want = phaseResumed
		}
		if got := b.phaseAt(p, s*second); got != want {
			t.Fatalf("at %d: phase %d, want %d", s, got, want)
		}
		count[want]++
	}
	if count[phaseControl] == 0 || count[phaseTreat] == 0 || count[phaseResumed] == 0 {
		t.Fatalf("the walk misses phases: %v", count)
	}
}

func TestResponsesNearAChangeAreNotJudged(t *testing.T) {
	b, p := testBook(t)
	at := func(from, to float64) *response {
		return &response{Start: int64(from * float64(second)), End: int64(to * float64(second))}
	}
	for _, c := range []struct {
		r    *response
		want phase
	}{
		{at(990, 999), phaseBefore},
		{at(998, 1001), phaseChange},  // the plan came while it ran
		{at(1001, 1002), phaseChange}, // the plan may not have reached the kernel
		{at(999, 999.8), phaseChange}, // its end may have been in the plan
	} {
		if got := b.phaseOf(p, c.r); got != c.want {
			t.Errorf("%d to %d ns: phase %d, want %d", c.r.Start, c.r.End, got, c.want)
		}
	}
}

func TestReleaseEndsATerm(t *testing.T) {
	b, p := testBook(t)
	b.planned(&plan.Plan{Created: 1200})
	if got := b.phaseAt(p, 1199*second); got == phaseBefore {
		t.Error("not in the plan before its release")
	}
	if got := b.phaseAt(p, 1200*second); got != phaseBefore {
		t.Errorf("after its release: phase %d", got)
	}
	if b.chosen() != 1 {
		t.Errorf("%d were chosen, want 1", b.chosen())
	}
}

// account is a verdict list in which every promise is kept.
func account() []verdict {
	ok := share{3, 3}
	v := verdict{network: network{prefix: netip.MustParsePrefix("198.18.0.0/24")}, term: &term{}, small: ok}
	v.large = [phases]share{phaseBefore: ok, phaseTreat: ok, phaseControl: ok, phaseStopped: ok, phaseResumed: ok}
	d := verdict{network: network{denied: true, prefix: netip.MustParsePrefix("198.18.2.0/24")}, small: ok}
	d.large[phaseBefore] = ok
	return []verdict{v, d}
}

// Each promise fails by its own fault and by no other.
func TestPromisesCanFail(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(v, d *verdict)
		want  string // words of the promise that fails; "" for none
	}{
		{"nothing", func(_, _ *verdict) {}, ""},
		{"nobody selected", func(v, _ *verdict) { v.term = nil }, "prefixes selected"},
		{"one not treated", func(v, _ *verdict) { v.large[phaseTreat].right-- }, "treatment blocks"},
		{"none to treat", func(v, _ *verdict) { v.large[phaseTreat] = share{} }, "treatment blocks"},
		{"control switched", func(v, _ *verdict) { v.large[phaseControl].right-- }, "control blocks"},
		{"no control block", func(v, _ *verdict) { v.large[phaseControl] = share{} }, ""},
		{"unplanned switched", func(v, _ *verdict) { v.large[phaseBefore].right-- }, "not in the plan"},
		{"small switched", func(v, _ *verdict) { v.small.right-- }, "under 100000"},
		{"denied selected", func(_, d *verdict) { d.term = &term{} }, "deny list"},
		{"stop ignored", func(v, _ *verdict) { v.large[phaseStopped].right-- }, "while stopped"},
		{"resume ignored", func(v, _ *verdict) { v.large[phaseResumed].right-- }, "after resume"},
		{"a third one", func(v, _ *verdict) { v.other++ }, "neither"},
	} {
		all := account()
		c.spoil(&all[0], &all[1])
		var failed []string
		for _, p := range promisesOf(all) {
			if !p.kept {
				failed = append(failed, p.text)
			}
		}
		switch {
		case c.want == "" && len(failed) > 0, c.want != "" && (len(failed) != 1 || !strings.Contains(failed[0], c.want)):
			t.Errorf("%s: failed %q, want %q", c.name, failed, c.want)
		}
	}
}

// The slowest fifth of the 24 is five networks by the links alone, and the one
// that is denied is among them.
func TestNetworksHaveAClearBottom(t *testing.T) {
	list := allNetworks()
	slowest, four, denied := 0, 0, 0
	seen := map[netip.Prefix]bool{}
	for _, n := range list {
		if n.mbit <= narrow.mbit {
			slowest++
		}
		if n.prefix.Addr().Is4() {
			four++
		}
		if n.denied && n.mbit <= narrow.mbit {
			denied++
		}
		seen[n.prefix] = true
	}
	if len(seen) != 24 || four != 16 || slowest != 5 || denied != 1 || line.mbit < 2*narrow.mbit {
		t.Errorf("%d networks, %d IPv4, %d slow, %d denied, line %g", len(seen), four, slowest, denied, line.mbit)
	}
}
