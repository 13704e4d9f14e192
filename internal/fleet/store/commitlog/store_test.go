package commitlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/tcp/record"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// topic is a PoP's log in memory. Its offsets have gaps, as Kafka's have.
type topic struct {
	bodies map[int64][]byte
	end    int64
	owner  int
	fail   func() (appended bool, err error) // may be nil
}

var errFenced = errors.New("fenced")

// handle is a log as one owner has it.
type handle struct {
	*topic
	owner int
}

func (t *topic) take() handle {
	t.owner++
	return handle{t, t.owner}
}

func (h handle) Partitions() int { return 4 }

func (h handle) Append(_ context.Context, body []byte) (int64, error) {
	if h.owner != h.topic.owner {
		return 0, errFenced
	}
	if h.fail != nil {
		if appended, err := h.fail(); !appended {
			return 0, err
		} else if err != nil {
			h.put(body)
			return 0, err
		}
	}
	return h.put(body), nil
}

func (t *topic) put(body []byte) int64 {
	t.end += 3
	t.bodies[t.end] = slices.Clone(body)
	return t.end
}

func (h handle) Read(_ context.Context, from, until int64, each func(int64, []byte) error) error {
	for at := from; at <= until; at++ {
		if b := h.bodies[at]; b != nil {
			if err := each(at, b); err != nil {
				return err
			}
		}
	}
	return nil
}

const first = int64(1_767_322_800)

// desk is one controller's host.
type desk struct {
	t     testing.TB
	name  string
	path  string
	creds *mtls.Credentials
	lost  []error
}

func newDesk(t testing.TB, a *mtlstest.Authority, id mtls.Identity) *desk {
	t.Helper()
	creds, err := mtls.Open(a.Issue(id), func(err error) { t.Error(err) })
	check(t, err)
	return &desk{t: t, name: id.Name, path: filepath.Join(t.TempDir(), "congctl.db"), creds: creds}
}

func controllerOf(t testing.TB, a *mtlstest.Authority, name string) *desk {
	return newDesk(t, a, mtls.Identity{Role: mtls.Controller, Name: name})
}

func (d *desk) open() *sqlite.Store {
	d.t.Helper()
	s, err := sqlite.Open(d.t.Context(), d.path, sqlite.Options{CreatedBy: "test", At: time.Unix(first, 0)})
	check(d.t, err)
	d.t.Cleanup(func() { _ = s.Close() })
	return s
}

func (d *desk) options() Options {
	return Options{PoP: "chi", By: d.name, Signer: d.creds, Now: time.Now, Lost: func(err error) { d.lost = append(d.lost, err) }}
}

func (d *desk) take(log Log) (*Store, Taken) {
	d.t.Helper()
	s, found, err := Take(d.t.Context(), d.open(), log, d.options())
	check(d.t, err)
	return s, found
}

// sample is a round with everything in it.
func sample(rng *rand.Rand, i, rows int) *journal.Commit {
	start := first + 300*int64(i)
	c := &journal.Commit{
		Closed: true, Start: start, Notes: []record.WindowNote{{Start: start - 300, Reason: "clock <set>"}},
		Round: &journal.Round{Summary: policy.Summary{RoundStart: start + 300, Window: start, Known: rng.IntN(99), BoundaryBytesPerS: rng.ExpFloat64() * 1e6, Note: "x"},
			SelectionJSON: []byte(`{"a": "<b>&"}`)},
		Events:   []journal.Event{{At: start, Kind: "selected", Prefix: record.Prefix(0x0b000000 | 24), Text: "slow & <steady>", Evidence: []byte(`{"n":1}`)}},
		Plan:     &journal.PlanFile{Serial: record.PlanID(i + 1), Created: start, Hash: "h", Text: fmt.Appendf(nil, "plan %d\x00\xff", i)},
		Settings: map[string][]byte{"plan_in_force": fmt.Append(nil, i)},
	}
	for n := range rows {
		w := record.Window{
			Start: start, Prefix: record.Prefix(uint64(0x0b000000+n<<8) | 24), Arm: record.Arm(n % 6), Cong: "cubic", Control: n%2 == 0, Washout: n%3 == 0,
			Conns: rng.Uint32(), Eligible: rng.Uint32N(99), RateMeans: rng.Uint32N(99), Bytes: rng.Uint64(), MinRTTUs: rng.Float64() * 1e5, SRTTUs: rng.ExpFloat64() * 1e4,
			LogRateMean: rng.NormFloat64(), LogRateVar: rng.Float64(), EligibleSentBytes: rng.Uint64(), Episodes: rng.Uint64(), LateConns: rng.Uint32(),
			RetransShare: rng.Float64(), BusyShare: rng.Float64(), LateBytesPerS: [2]float64{rng.Float64() * 1e7, rng.Float64()},
		}
		if n%4 == 3 {
			w.Prefix = record.Prefix(0x20010db8_00000000 | uint64(n)<<8 | 56)
		}
		for q := range w.RateBytesPerS {
			w.RateBytesPerS[q] = rng.ExpFloat64() * 1e6
		}
		c.Rows = append(c.Rows, w)
	}
	return c
}

// content is all that two stores of a PoP must agree on.
type content struct {
	Heads    []journal.Head
	Rows     []record.Window
	Rounds   []journal.Round
	Events   []journal.Event
	Plans    []journal.PlanFile
	Settings map[string]string
}

func contentOf(t testing.TB, s *sqlite.Store) (c content) {
	t.Helper()
	var err error
	c.Heads, err = s.Heads(t.Context(), 0, math.MaxInt64)
	check(t, err)
	check(t, s.Windows(t.Context(), 0, math.MaxInt64, func(w *record.Window) error { c.Rows = append(c.Rows, *w); return nil }))
	c.Rounds, err = s.Rounds(t.Context(), 1000)
	check(t, err)
	c.Events, err = s.Events(t.Context(), 0, 1000)
	check(t, err)
	for serial := record.PlanID(1); serial < 100; serial++ {
		p, ok, err := s.Plan(t.Context(), serial)
		check(t, err)
		if ok {
			c.Plans = append(c.Plans, p)
		}
	}
	all, err := s.Settings(t.Context())
	check(t, err)
	c.Settings = map[string]string{}
	for k, v := range all {
		if !local(k) {
			c.Settings[k] = string(v)
		}
	}
	return c
}

func same(t testing.TB, what string, a, b *Store) {
	t.Helper()
	if d := cmp.Diff(contentOf(t, a.Store), contentOf(t, b.Store)); d != "" {
		t.Errorf("%s: the stores differ (-first +second):\n%.3000s", what, d)
	}
}

// TestTakeOver: whoever takes a PoP over has what the one before decided, to the bit; the one before
// commits nothing more, not even on its own disk, until it takes the PoP back.
func TestTakeOver(t *testing.T) {
	a := mtlstest.New(t)
	rng := rand.New(rand.NewPCG(17, 5))
	log := &topic{bodies: map[int64][]byte{}}
	one, two := controllerOf(t, a, "one"), controllerOf(t, a, "two")
	s1, _ := one.take(log.take())
	check(t, s1.SetSetting(t.Context(), journal.SettingSigningKey, []byte("secret of one")))
	check(t, s1.SetSetting(t.Context(), journal.SettingSalt, []byte("salt")))
	check(t, s1.SetSetting(t.Context(), journal.SettingKilled, []byte("1")))
	for i := range 3 {
		check(t, s1.CommitRound(t.Context(), sample(rng, i, 40)))
	}
	check(t, s1.SetSetting(t.Context(), journal.SettingKilled, nil))
	s2, found := two.take(log.take())
	if found.Commits != 6 || found.Fenced != 0 || found.Missing != 0 {
		t.Errorf("found %+v, want 6 commits", found)
	}
	same(t, "after the first take-over", s1, s2)
	check(t, s2.CommitRound(t.Context(), sample(rng, 3, 40)))

	before := contentOf(t, s1.Store)
	for range 2 { // the zombie's
		if err := s1.CommitRound(t.Context(), sample(rng, 3, 40)); !errors.Is(err, errFenced) {
			t.Errorf("the one before committed: %v", err)
		}
	}
	if d := cmp.Diff(before, contentOf(t, s1.Store)); d != "" || len(one.lost) != 1 {
		t.Errorf("told %v; its store changed:\n%s", one.lost, d)
	}
	check(t, s1.Close())
	back, found2 := one.take(log.take())
	if found2.Commits != 1 || found2.Generation <= found.Generation {
		t.Errorf("found %+v after %+v", found2, found)
	}
	same(t, "after the way back", back, s2)
	for at, body := range log.bodies {
		if bytes.Contains(body, []byte("secret of one")) || bytes.Contains(body, []byte("c2VjcmV0IG9mIG9uZ")) {
			t.Errorf("the entry at %d has the signing key", at)
		}
	}
	if v, _, err := back.Setting(t.Context(), journal.SettingSigningKey); string(v) != "secret of one" || err != nil {
		t.Errorf("signing key %q, %v", v, err)
	}
}

// TestUnsure: an append whose outcome is not known ends the ownership. Taken again, the PoP has the commit
// if and only if the log has.
func TestUnsure(t *testing.T) {
	a := mtlstest.New(t)
	for _, appended := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(17, 6))
		log := &topic{bodies: map[int64][]byte{}}
		one := controllerOf(t, a, "one")
		s, _ := one.take(log.take())
		check(t, s.CommitRound(t.Context(), sample(rng, 0, 5)))
		log.fail = func() (bool, error) { return appended, errors.New("no answer") }
		if err := s.CommitRound(t.Context(), sample(rng, 1, 5)); err == nil || len(one.lost) != 1 {
			t.Errorf("%v, told %v", err, one.lost)
		}
		log.fail = nil
		if err := s.SetSetting(t.Context(), "killed", []byte("1")); err == nil {
			t.Error("it goes on without knowing")
		}
		if n := len(contentOf(t, s.Store).Rounds); n != 1 {
			t.Errorf("%d rounds on the disk before it is known", n)
		}
		check(t, s.Close())
		s, _ = one.take(log.take())
		if n, want := len(contentOf(t, s.Store).Rounds), map[bool]int{false: 1, true: 2}[appended]; n != want {
			t.Errorf("appended %v: %d rounds, want %d", appended, n, want)
		}
		check(t, s.CommitRound(t.Context(), sample(rng, 2, 5)))
	}
}

// TestRefusedHere: what the local store refuses is not in the log, and does not end the ownership.
func TestRefusedHere(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 7))
	log := &topic{bodies: map[int64][]byte{}}
	one := controllerOf(t, mtlstest.New(t), "one")
	s, _ := one.take(log.take())
	check(t, s.CommitRound(t.Context(), sample(rng, 0, 5)))
	n := len(log.bodies)
	if err := s.CommitRound(t.Context(), sample(rng, 0, 5)); !errors.Is(err, journal.ErrExists) || len(log.bodies) != n || len(one.lost) > 0 {
		t.Errorf("%v; %d entries after %d, told %v", err, len(log.bodies), n, one.lost)
	}
	check(t, s.CommitRound(t.Context(), sample(rng, 1, 5)))
}

// TestForged: only a controller of the PoP that has not lost it can put anything into a store. What no controller
// signed ends the take-over: without it a stop might be forgotten.
func TestForged(t *testing.T) {
	a := mtlstest.New(t)
	rng := rand.New(rand.NewPCG(17, 8))
	log := &topic{bodies: map[int64][]byte{}}
	one, two := controllerOf(t, a, "one"), controllerOf(t, a, "two")
	s1, _ := one.take(log.take())
	check(t, s1.CommitRound(t.Context(), sample(rng, 0, 5)))
	was, old := log.bodies[log.end], s1.generation
	s2, _ := two.take(log.take())

	agent, stranger := newDesk(t, a, mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "one"}), controllerOf(t, mtlstest.New(t), "one")
	forge := func(by *desk, edit func(*entry)) []byte {
		e := &entry{PoP: "chi", By: by.name, At: time.Now().Unix(), Generation: s2.generation, Sequence: 2, commit: commitOf(sample(rng, 1, 5))}
		edit(e)
		message, err := json.Marshal(e)
		check(t, err)
		var p proof
		p.Signature, p.Chain, err = by.creds.Sign(mtls.Commit, message)
		check(t, err)
		head, err := json.Marshal(p)
		check(t, err)
		return append(append(head, '\n'), message...)
	}
	as := func(*entry) {}
	for what, body := range map[string][]byte{
		"nothing": {}, "a line break": []byte("\n"), "no signature": []byte("{}\n{}"), "no entry": []byte("x"),
		"an agent's": forge(agent, as), "another authority's": forge(stranger, as),
		"another PoP's":           forge(two, func(e *entry) { e.PoP = "ams" }),
		"in another's name":       forge(two, func(e *entry) { e.By = "one" }),
		"when it had expired":     forge(two, func(e *entry) { e.At += 86400 }),
		"changed after signature": bytes.Replace(forge(two, as), []byte(`"sequence":2`), []byte(`"sequence":3`), 1),
	} {
		at := log.put(body)
		three := controllerOf(t, a, "three")
		if _, _, err := Take(t.Context(), three.open(), log.take(), three.options()); err == nil || !strings.Contains(err.Error(), "entry at") {
			t.Errorf("%s: %v", what, err)
		}
		delete(log.bodies, at)
	}
	log.put(was) // one's own commit, again
	log.put(forge(one, func(e *entry) { e.Generation = old }))
	s, found := controllerOf(t, a, "three").take(log.take())
	if found.Fenced != 2 || found.Commits != 1 {
		t.Errorf("%+v, want 2 fenced", found)
	}
	same(t, "after forged entries", s1, s)
}

// TestClock: a controller by whose clock its certificate is not valid takes nothing.
func TestClock(t *testing.T) {
	log := &topic{bodies: map[int64][]byte{}}
	one := controllerOf(t, mtlstest.New(t), "one")
	o := one.options()
	o.Now = func() time.Time { return time.Unix(0, 0) }
	if _, _, err := Take(t.Context(), one.open(), log.take(), o); err == nil || len(log.bodies) > 0 {
		t.Errorf("%d entries, %v", len(log.bodies), err)
	}
}

// TestClosedTwice: a window that its owner closed again, after it had dropped it, does not keep others from following.
func TestClosedTwice(t *testing.T) {
	a := mtlstest.New(t)
	rng := rand.New(rand.NewPCG(17, 11))
	log := &topic{bodies: map[int64][]byte{}}
	one, two := controllerOf(t, a, "one"), controllerOf(t, a, "two")
	s1, _ := one.take(log.take())
	check(t, s1.CommitRound(t.Context(), sample(rng, 0, 5)))
	check(t, s1.Prune(t.Context(), sqlite.Before{Windows: first + 1, Rounds: first + 301}))
	again := sample(rng, 0, 5)
	again.Plan = nil
	check(t, s1.CommitRound(t.Context(), again))
	check(t, s1.CommitRound(t.Context(), sample(rng, 1, 5)))
	if _, found := two.take(log.take()); found.Commits != 3 {
		t.Errorf("%+v", found)
	}
}

// TestRetention: the log may have lost its beginning. Settings come with each window; a store that
// followed it is told how many commits it lacks.
func TestRetention(t *testing.T) {
	a := mtlstest.New(t)
	rng := rand.New(rand.NewPCG(17, 9))
	log := &topic{bodies: map[int64][]byte{}}
	one, two, three := controllerOf(t, a, "one"), controllerOf(t, a, "two"), controllerOf(t, a, "three")
	s1, _ := one.take(log.take())
	check(t, s1.SetSetting(t.Context(), journal.SettingSalt, []byte("salt")))
	s2, _ := two.take(log.take())
	check(t, s2.Close())
	check(t, s1.Close())
	s1, _ = one.take(log.take())
	for i := range 4 {
		check(t, s1.CommitRound(t.Context(), sample(rng, i, 5)))
	}
	for at := range log.bodies {
		if at < log.end-3 {
			delete(log.bodies, at)
		}
	}
	s3, found := three.take(log.take())
	if salt, _, err := s3.Setting(t.Context(), journal.SettingSalt); string(salt) != "salt" || err != nil || found.Commits != 2 || found.Missing != 0 {
		t.Errorf("salt %q, %v; found %+v", salt, err, found)
	}
	if _, found = two.take(log.take()); found.Commits != 2 || found.Missing != 2 {
		t.Errorf("found %+v, want 2 commits and 2 missing", found)
	}
}

// TestFromAlone: a store from before the PoP was shared begins the log; a second such store is refused.
func TestFromAlone(t *testing.T) {
	a := mtlstest.New(t)
	rng := rand.New(rand.NewPCG(17, 10))
	log := &topic{bodies: map[int64][]byte{}}
	one, two, three := controllerOf(t, a, "one"), controllerOf(t, a, "two"), controllerOf(t, a, "three")
	for _, d := range []*desk{one, two} {
		s := d.open()
		check(t, s.SetSetting(t.Context(), journal.SettingSalt, []byte("salt of "+d.name)))
		check(t, s.CommitRound(t.Context(), sample(rng, 0, 5)))
		check(t, s.Close())
	}
	one.take(log.take())
	s3, _ := three.take(log.take())
	salt, _, err1 := s3.Setting(t.Context(), journal.SettingSalt)
	plan, _, err2 := s3.LatestPlan(t.Context())
	if err := errors.Join(err1, err2); err != nil || string(salt) != "salt of one" || plan.Serial != 1 {
		t.Errorf("salt %q, plan %d, %v", salt, plan.Serial, err)
	}
	if _, _, err := Take(t.Context(), two.open(), log.take(), two.options()); err == nil || !strings.Contains(err.Error(), "move the store away") {
		t.Errorf("a second past was taken: %v", err)
	}
}
