package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/pop"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestSameLabDay: what `congctl up` decided on a day in the lab, in a kernel of its own, a fleet's
// controller decides again from the day's records, shared among three hosts, in ClickHouse.
func TestSameLabDay(t *testing.T) {
	needProgram(t)
	address := emptyClickHouse(t)
	text, err := os.ReadFile("../../scenarios/pop/demo.yml")
	check(t, err)
	dir := t.TempDir()
	const asIs = "congctl: |\n"
	day := strings.Replace(string(text), asIs, asIs+"  store: {records_file: /run/congctl/records, addresses: full}\n", 1)
	file, out := filepath.Join(dir, "demo.yml"), filepath.Join(dir, "out")
	check(t, os.WriteFile(file, []byte(day), 0o600))
	var said bytes.Buffer
	if code := run([]string{"lab", "pop", file, "--world", "uml", "--cache", os.Getenv(labCacheEnv), "--out", out}, &said, &said); code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, &said)
	}
	parsed, err := pop.Parse(file, []byte(day))
	check(t, err)
	_, cfg, err := popConfig(parsed, policyLoop)
	check(t, err)
	cfg.StateDir = out
	check(t, os.Rename(filepath.Join(out, popday.StoreFile), storePath(cfg)))
	rules, err := cfg.Rules()
	check(t, err)
	d := decidedDay{cfg: cfg, rules: rules}
	f, err := os.Open(filepath.Join(out, popday.RecordsFile))
	check(t, err)
	defer f.Close()
	_, err = wire.Read(f, func(_ *wire.Header, c *record.Conn) error { d.records = append(d.records, *c); return nil })
	check(t, err)
	d.again(t, address)
}
