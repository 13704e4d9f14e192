package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/kernel/popworld"
)

func factsOf(t *testing.T, dir string) (f popworld.Facts) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, popday.FactsFile))
	check(t, err)
	check(t, json.Unmarshal(b, &f))
	return f
}

// congsOf counts a network's responses by congestion control.
func congsOf(t *testing.T, dir string, of func(popday.Response) bool) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, r := range responsesOf(t, dir) {
		if of(r) {
			n[r.Cong]++
		}
	}
	return n
}

func bbrShare(n map[string]int) float64 {
	all := 0
	for _, k := range n {
		all += k
	}
	return float64(n["bbr"]) / float64(max(all, 1))
}

func everyone(popday.Response) bool { return true }

// TestLabPopBpftune: the rule of the other tuner chooses among all its arms, each of
// which the kernel has, and moves the lossy network to BBR.
func TestLabPopBpftune(t *testing.T) {
	needMachine(t)
	dir := popInto(t, policyBpftune, "1")
	f := factsOf(t, dir)
	if f.Product != nil || len(f.Bandit) != 2 || f.Broken > 0 {
		t.Fatalf("%+v", f)
	}
	for _, hop := range f.Bandit {
		chosen := uint64(0)
		for _, arm := range hop.Arms {
			chosen += arm.Chosen
			if arm.Refused > 0 {
				t.Errorf("%s: the kernel refused %s", hop.NextHop, arm.Cong)
			}
		}
		if hop.Connections < 10 || chosen != hop.Connections-4 {
			t.Errorf("%+v", hop)
		}
	}
	lossy := congsOf(t, dir, func(r popday.Response) bool { return r.Network == 3 })
	// Network 2 is IPv6: another next hop, whose arms are drawn by themselves.
	rest := congsOf(t, dir, func(r popday.Response) bool { return r.Network != 3 && r.Network != 2 })
	t.Logf("%+v; lossy: %v; the rest: %v", f.Bandit, lossy, rest)
	// Connections are few, so that the draws decide how many move: their share is compared, not counted.
	if f.Bandit[0].ByLoss == 0 || f.Bandit[1].ByLoss > 0 || bbrShare(lossy) < 4*bbrShare(rest) {
		t.Errorf("by loss %d and %d; lossy: %v; the rest: %v", f.Bandit[0].ByLoss, f.Bandit[1].ByLoss, lossy, rest)
	}
}

// TestLabPopWithoutTreatment: `static` treats its networks and no others from the first
// response on; `observe` selects and treats nothing.
func TestLabPopWithoutTreatment(t *testing.T) {
	needMachine(t)
	dir := popInto(t, policyStatic, "1")
	for network := range 4 {
		want := map[bool]string{true: "bbr", false: "cubic"}[network == 3]
		n := congsOf(t, dir, func(r popday.Response) bool { return r.Network == network })
		if len(n) != 1 || n[want] == 0 {
			t.Errorf("static: network %d: %v", network, n)
		}
	}
	dir = popInto(t, policyObserve, "1")
	if n := congsOf(t, dir, everyone); len(n) != 1 || n["cubic"] == 0 {
		t.Errorf("observe: %v", n)
	}
	if f := factsOf(t, dir); f.Product == nil || f.Product.Lives != 2 {
		t.Errorf("observe: %+v", f)
	}
}
