package agent

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSetKeys: with its key beside another one a plan stays; without it the plan goes at once, and one of
// a key that is trusted now takes its place.
func TestSetKeys(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		mine := testKey.Public().(ed25519.PublicKey)
		other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)).Public().(ed25519.PublicKey)
		if err := a.SetPlan(signed(1, time.Now(), time.Hour, "203.0.113.0/24")); err != nil {
			t.Fatal(err)
		}
		if err := a.SetKeys([]ed25519.PublicKey{other, mine}); err != nil || a.Status().InForce != 1 {
			t.Errorf("beside another key: %v, %+v", err, a.Status())
		}
		if err := a.SetKeys([]ed25519.PublicKey{other}); err != nil || a.Status().InForce != 0 || a.Status().Plan != 0 {
			t.Errorf("revoked: %v, %+v", err, a.Status())
		}
		h.with(func() {
			if last := h.programs[len(h.programs)-1]; len(last.Entries) != 0 {
				t.Errorf("the kernel still has %d networks", len(last.Entries))
			}
			if !slices.ContainsFunc(h.alarms, func(s string) bool {
				return strings.HasPrefix(s, "plan: plan 1 is signed with a key that is no longer trusted")
			}) {
				t.Errorf("alarms: %q", h.alarms)
			}
		})
		next := signed(2, time.Now(), time.Hour, "203.0.113.0/24")
		if err := a.SetPlan(next); err == nil {
			t.Error("a plan of a revoked key was taken")
		}
		if err := a.SetKeys([]ed25519.PublicKey{mine}); err != nil {
			t.Fatal(err)
		}
		if err := a.SetPlan(next); err != nil || a.Status().InForce != 1 || len(a.Status().Alarms) != 0 {
			t.Errorf("trusted again: %v, %+v", err, a.Status())
		}
	})
}
