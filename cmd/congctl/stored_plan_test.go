package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"time"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/tcp/record"
)

// A plan can be in force without waiting for the policy: `up` puts the one that
// its store holds in force at its start, and frozen it stays.
var (
	testSeed = bytes.Repeat([]byte{7}, ed25519.SeedSize)
	testSalt = []byte("sixteen salty by")
)

func testKey() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(testSeed) }

// planFor is what the controller itself would write for these prefixes.
func (e *edge) planFor(prefixes ...record.Prefix) *plan.Plan {
	e.t.Helper()
	seconds := func(s string) int64 {
		d, err := time.ParseDuration(s)
		check(e.t, err)
		return int64(d / time.Second)
	}
	now := time.Now().Unix()
	p := &plan.Plan{
		PoP: "test", Serial: 1, Created: now, Expires: now + 3600, Treatment: "bbr", MinBytes: 100_000,
		BlockSeconds: seconds(e.cfg.Block), WashoutSeconds: seconds(e.cfg.Washout), Experiment: plan.ExperimentOff,
		GroupTrial: plan.DefaultGroupTrial, GroupPromoted: e.cfg.ControlEvery, Salt: testSalt, CapRule: plan.CapRuleNone,
	}
	for _, pfx := range prefixes {
		p.Entries = append(p.Entries, plan.Entry{Prefix: pfx, Cong: "bbr", State: plan.StateSelected, Since: now, Reason: "a test's choice"})
	}
	p.Sort()
	return p
}

// keepPlan prepares the store before the first start.
func (e *edge) keepPlan(p *plan.Plan) {
	e.t.Helper()
	check(e.t, os.MkdirAll(filepath.Dir(e.storePath()), 0o700))
	ctx := context.Background()
	s, err := sqlite.Open(ctx, e.storePath(), sqlite.Options{CreatedBy: "test", At: time.Now()})
	check(e.t, err)
	defer s.Close()
	check(e.t, s.CommitRound(ctx, &journal.Commit{
		Plan: &journal.PlanFile{Serial: p.Serial, Created: p.Created, Hash: p.Hash(), Text: p.Sign(testKey())},
		Settings: map[string][]byte{
			journal.SettingSigningKey: testSeed, journal.SettingSalt: testSalt, journal.SettingFrozen: []byte("1"),
		},
	}))
}

// networksIn finds n client networks whose arm is the wanted one in this block and
// the next.
func (e *edge) networksIn(arm record.Arm, n int) (found []int) {
	e.t.Helper()
	var all []record.Prefix
	for i := range networks {
		all = append(all, prefixOf(e.t, client(i, 1)))
	}
	p := e.planFor(all...)
	now := time.Now().Unix()
	for i, pfx := range all {
		a, _ := p.ArmAt(pfx, now)
		b, _ := p.ArmAt(pfx, now+p.BlockSeconds)
		if a == arm && b == arm {
			found = append(found, i)
		}
		if len(found) == n {
			return found
		}
	}
	e.t.Fatalf("only %d networks in arm %s", len(found), arm)
	return nil
}
