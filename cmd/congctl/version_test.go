package main

import (
	"runtime/debug"
	"testing"

	"github.com/congctl/congctl/internal/loop/kernel/enforce"
)

func TestVersionInfo(t *testing.T) {
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "1234abcd"}}
	for name, c := range map[string]struct {
		info            *debug.BuildInfo
		version, commit string
	}{
		"nothing known":    {nil, "devel", ""},
		"checkout":         {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: settings}, "devel", "1234abcd"},
		"tag":              {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3", ""},
		"before a tag":     {&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261120120000-0123456789ab"}}, "v0.0.0-20261120120000-0123456789ab", "0123456789ab"},
		"after a tag":      {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.4-0.20261120120000-0123456789ab"}}, "v1.2.4-0.20261120120000-0123456789ab", "0123456789ab"},
		"changed checkout": {&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261120120000-0123456789ab+dirty"}, Settings: settings}, "v0.0.0-20261120120000-0123456789ab+dirty", "1234abcd"},
	} {
		if v := versionInfo(c.info); v.Version != c.version || v.Commit != c.commit {
			t.Errorf("%s: %s of %q", name, v.Version, v.Commit)
		}
	}
}

func TestVersionKnowsEveryTier(t *testing.T) {
	want := enforce.TierFull
	for i, k := range knownTiers {
		if k.Tier != want-enforce.Tier(i) {
			t.Errorf("line %d is %s", i, k.Tier)
		}
	}
	if len(knownTiers) != int(want)+1 {
		t.Errorf("%d tiers, wanted %d", len(knownTiers), want+1)
	}
}
