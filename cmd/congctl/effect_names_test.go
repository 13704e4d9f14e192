package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestNamesForPooling: selection by benefit gets the configured names; the other one reads none, so that a
// file that is wrong does not keep it from starting.
func TestNamesForPooling(t *testing.T) {
	file := filepath.Join(t.TempDir(), "networks.yml")
	if err := os.WriteFile(file, []byte("Big Cable: 203.0.113.0/24\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ := record.ParsePrefix("203.0.113.0/24")
	for _, c := range []struct {
		selection, file, name, fault string
	}{
		{policy.SelectBenefit, file, "Big Cable", ""},
		{policy.SelectBenefit, "", "", ""},
		{policy.SelectBenefit, file + ".gone", "", "names.networks"},
		{policy.SelectSlowest, file + ".gone", "", ""},
		{policy.SelectSlowest, file, "Big Cable", ""},
	} {
		cfg := config.Config{}
		cfg.Names.Networks = c.file
		o, done, err := withNames(controller.Options{Rules: policy.Rules{Select: c.selection}}, cfg)
		if err != nil || c.fault != "" {
			if c.fault == "" || err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if got := o.Networks; (got != nil) != (c.name != "") || got != nil && got.Of(p) != c.name {
			t.Errorf("%+v: %v", c, got)
		}
		if err := done(); err != nil {
			t.Error(err)
		}
	}
}
