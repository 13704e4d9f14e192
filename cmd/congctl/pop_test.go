package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/popday/kernel/popworld"
	"github.com/congctl/congctl/internal/popday/pop"
	"github.com/congctl/congctl/scenarios"
)

// TestShippedDays: every shipped day is read, is called after its file, tells its mix,
// and has a configuration that congctl takes.
func TestShippedDays(t *testing.T) {
	if len(scenarios.Days.Names()) == 0 {
		t.Fatal("no days")
	}
	for _, name := range scenarios.Days.Names() {
		text, _ := scenarios.Days.Text(name)
		d, err := pop.Parse(name+".yml", text)
		if err != nil {
			t.Error(err)
			continue
		}
		if d.Name != name || d.Notes == "" || len(d.About) > 100 {
			t.Errorf("%s calls itself %s, about %d letters, notes %q", name, d.Name, len(d.About), d.Notes)
		}
		for _, policy := range policies {
			p, err := popPolicy(policy, d)
			if policy == policyStatic && len(d.Static) == 0 {
				continue
			}
			benefit := policy == policyBenefit || policy == policyCapped
			if err != nil && !(benefit && strings.Contains(err.Error(), "knows what bbr and cubic_lt gain")) { // a day's treatment may be another
				t.Errorf("%s under %s: %v", name, policy, err)
			}
			if policy == policyLoop {
				enoughToRank(t, d, p.Product.Config)
			}
		}
	}
}

func enoughToRank(t *testing.T, d *pop.Day, text string) {
	t.Helper()
	cfg, err := config.Parse([]byte(text))
	check(t, err)
	if n := len(d.World(1).Networks); n < cfg.Policy.MinRanked {
		t.Errorf("%s: %d networks, %d are needed to rank", d.Name, n, cfg.Policy.MinRanked)
	}
}

func TestPolicyOfADay(t *testing.T) {
	d := &pop.Day{Name: "x", WindowUs: 120e6, Default: "bbr", Congctl: "poll: 12s"}
	p, err := popPolicy(policyObserve, d)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse([]byte(p.Product.Config))
	if err != nil || p.Cong != "bbr" || cfg.Window.Minutes() != 2 || cfg.Poll.Seconds() != 12 || cfg.Tier != config.TierObserve ||
		cfg.StateDir != popworld.StateDir || cfg.Socket != popworld.Socket {
		t.Errorf("%v: %s", err, p.Product.Config)
	}
	for policy, want := range map[string]string{policyStatic: "names no networks", "best": "use cubic, bbr"} {
		if _, err := popPolicy(policy, d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", policy, err)
		}
	}
	for name, want := range map[string]string{policyLoop: "benefit true", policyCapped: "benefit true", policyBenefit: "benefit false", policySlowest: "slowest-fifth false"} {
		if p, err = popPolicy(name, d); err == nil {
			cfg, err = config.Parse([]byte(p.Product.Config))
		}
		if got := fmt.Sprint(cfg.Policy.Select, " ", cfg.Policy.Cap); err != nil || got != want || cfg.Poll.Seconds() != 12 {
			t.Errorf("%s: %s, want %s: %v: %s", name, got, want, err, p.Product.Config)
		}
	}
	d.Congctl = "window: 1m"
	if _, err := popPolicy(policyLoop, d); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("a key that the lab sets: %v", err)
	}
}

// TestRandomDay: the seed draws each of 60 networks, from wide ranges; which networks there are it does
// not change.
func TestRandomDay(t *testing.T) {
	text, _ := scenarios.Days.Text("random")
	d, err := pop.Parse("random.yml", text)
	check(t, err)
	one, two := d.World(1), d.World(2)
	own, same, bursts, policed := 0, 0, 0, 0
	for i, n := range one.Networks {
		if n.Prefix != two.Networks[i].Prefix || n.Class != two.Networks[i].Class {
			t.Fatalf("network %d is %s %s, and with another seed %s %s", i, n.Class, n.Prefix, two.Networks[i].Class, two.Networks[i].Prefix)
		}
		if n.Behind >= 0 {
			continue
		}
		own++
		p := n.Path
		if p == two.Networks[i].Path {
			same++
		}
		if p.LossBurst > 0 {
			bursts++
		}
		if p.Policer {
			policed++
		}
		queue := float64(p.Buffer.Us) / float64(p.RTTUs)
		if p.RateBitPerS < 3e6 || p.RateBitPerS > 60e6 || p.RTTUs < 10_000 || p.RTTUs > 180_000 || p.LossPPM > 40_000 || !p.Policer && (queue < 0.099 || queue > 4.001) {
			t.Errorf("%s: %+v", n.Class, p)
		}
	}
	if own != 60 || same > 0 || bursts == 0 || policed == 0 || own == len(one.Networks) {
		t.Errorf("%d networks of %d, %d alike with another seed, %d with losses in bursts, %d policed", own, len(one.Networks), same, bursts, policed)
	}
}

// TestPopMistakes: what cannot be run is told before anything boots.
func TestPopMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"demo --seed 0":                   "--seed 0: use 1 or more",
		"demo --seeds 0":                  "--seeds 0: use 1 or more",
		"demo --policy cubic,loop,cubic":  "--policy cubic: twice",
		"demo --policy cubic,best":        `--policy "best": use cubic, bbr`,
		"demo --policy=":                  "--policy: name one or more of cubic",
		"demo --length 7m":                "end",
		"demo --cpus 100000":              "--cpus 100000: use 1 to",
		"nosuch":                          `no day "nosuch": known are`,
		"demo --policy cubic,loop --cpus": "--cpus: write a value after it",
	} {
		var said strings.Builder
		if code := run(append([]string{"lab", "pop"}, strings.Fields(args)...), &said, &said); code != exitUsage || !strings.Contains(said.String(), want) {
			t.Errorf("lab pop %s: exit code %d: %s", args, code, said.String())
		}
	}
}
