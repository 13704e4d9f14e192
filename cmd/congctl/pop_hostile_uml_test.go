package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/tcp/record"
)

// siege is an edge of 15 slow networks and 85 healthy ones, each in a site of its own, and of what
// one client brings in from a single /48. A healthy one's rate varies, so that none is always among
// the slowest. Selection, by level, takes six windows; two more rounds may select others.
const siege = `
name: siege
about: for tests
window: 2m
length: 18m
congctl: |
  poll: 12s
  treatment: {min_bytes: 20000}
  policy: {select: slowest-fifth, min_known: 6}
traffic: {fetches: 3, large: 50kB-60kB, pages: 0, small: 5kB-10kB, smalls: 1, think: 100ms}
networks:
  - {name: attacker, sites: 1, ATTACK}
  - {name: slow, count: 15, sites: 15, path: {rate: 3mbit, rtt: 100ms, loss: 1%}}
  - {name: healthy, count: 85, sites: 85, vary: {sd: 20%, memory: 2m, every: 40s}, path: {rate: 20mbit, rtt: 30ms}}
`

// TestLabPopOneSite: whatever one /48 does, with a real kernel and the whole loop, the slow networks
// of others are tried and healthy ones are not.
func TestLabPopOneSite(t *testing.T) {
	for name, c := range map[string]struct {
		attack string
		most   int // of the attacker's
	}{
		"30 slow":  {"count: 30, path: {rate: 500kbit, rtt: 300ms, buffer: 1s}", 30},
		"255 fast": {"count: 255, traffic: {fetches: 1.5}, path: {rate: 100mbit, rtt: 10ms}", 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := runSiege(t, strings.Replace(siege, "ATTACK", c.attack, 1))
			n := d.networks("selected")
			t.Logf("selected: %v", n)
			if n["slow"] < 13 || n["healthy"] > 0 || n["attacker"] > c.most {
				t.Errorf("selected: %v", n)
			}
		})
	}
}

func runSiege(t *testing.T, text string) wrongDay {
	t.Helper()
	needProgram(t) // 355 networks take QEMU ten minutes
	dir := t.TempDir()
	file, out := filepath.Join(dir, "siege.yml"), filepath.Join(dir, "out")
	check(t, os.WriteFile(file, []byte(text), 0o600))
	var said bytes.Buffer
	if code := run([]string{"lab", "pop", file, "--world", worldUML, "--cache", os.Getenv(labCacheEnv), "--out", out}, &said, &said); code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, &said)
	}
	return wrongDay{out, factsOf(t, out), eventsIn(t, filepath.Join(out, popday.StoreFile))}
}

// networks counts the networks with such an event, by class.
func (d *wrongDay) networks(kind string) map[string]int {
	class, seen, n := map[string]string{}, map[record.Prefix]bool{}, map[string]int{}
	for _, x := range d.facts.Networks {
		class[x.Prefix.String()] = x.Class
	}
	for _, e := range d.of(kind) {
		if !seen[e.Prefix] {
			seen[e.Prefix] = true
			n[class[e.Prefix.String()]]++
		}
	}
	return n
}
