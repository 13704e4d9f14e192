package commitlog

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/loop/journal"
)

// TestKeysStay: what replaces a signing key is in the store of the controller whose key it is and never in the log, and
// no entry replaces another controller's, not even one that has a key.
func TestKeysStay(t *testing.T) {
	a, log := mtlstest.New(t), &topic{bodies: map[int64][]byte{}}
	one, two := controllerOf(t, a, "one"), controllerOf(t, a, "two")
	keys := func(of string) map[string][]byte {
		return map[string][]byte{journal.SettingSigningKey: []byte("now of " + of), journal.SettingNextKey: []byte("next of " + of), journal.SettingPastKeys: []byte("past of " + of)}
	}
	has := func(s *Store, of string) {
		t.Helper()
		for key, want := range keys(of) {
			if got, _, err := s.Setting(t.Context(), key); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %q, %v; want %q", key, got, err, want)
			}
		}
	}
	s1, _ := one.take(log.take())
	own := keys("one")
	own["frozen"] = []byte("1")
	check(t, s1.CommitRound(t.Context(), &journal.Commit{Settings: own, Events: []journal.Event{{At: first, Kind: "key", Text: "made"}}}))
	check(t, s1.CommitRound(t.Context(), sample(rand.New(rand.NewPCG(1, 2)), 0, 3)))
	has(s1, "one")
	for at, body := range log.bodies {
		for _, secret := range keys("one") {
			if bytes.Contains(body, secret) || bytes.Contains(body, []byte(base64.StdEncoding.EncodeToString(secret))) {
				t.Errorf("the entry at %d has %q", at, secret)
			}
		}
	}

	local := two.open()
	for key, value := range keys("two") {
		check(t, local.SetSetting(t.Context(), key, value))
	}
	check(t, local.Close())
	planted := &entry{PoP: "chi", By: "one", At: time.Now().Unix(), Generation: s1.generation, Sequence: s1.at.sequence + 1, commit: commit{Settings: keys("one")}}
	body, err := planted.signed(one.creds)
	check(t, err)
	log.put(body)
	s2, found := two.take(log.take())
	if found.Commits != 3 {
		t.Errorf("found %+v", found)
	}
	has(s2, "two")
	if v, _, err := s2.Setting(t.Context(), "frozen"); string(v) != "1" || err != nil {
		t.Errorf("frozen: %q, %v", v, err)
	}
}
