package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// changed is the small folder as another kernel could have given it: CUBIC faster by half
// with 1 % of loss, BBR a little slower without, and the broken gate mended.
func changed(t *testing.T) *Folder {
	f := folder(t, smallText)
	f.Manifest.Kernel = Kernel{Release: "6.12.9-cloud-amd64", SHA256: hash([]byte("other")), Source: "Debian"}
	for i := range f.Results {
		r := &f.Results[i]
		factor := map[string]float64{"loss=1%/cubic": 1.5, "loss=0%/bbr": 0.99}[r.Cell]
		switch {
		case factor > 0:
			r.Metrics.GoodputBitPerS *= factor
		case r.Cell == "loss=4%/cubic":
			r.Valid, r.Gates[2].OK = true, true
			r.Metrics = &outcome.Metrics{GoodputBitPerS: 2e6}
		}
	}
	f.Summary = outcome.Summarise(&f.Summary.Scenario, f.Results, false)
	return f
}

func TestCompare(t *testing.T) {
	a := folder(t, smallText)
	if c := Compare(a, folder(t, smallText)); len(c.Differences) > 0 || slices.ContainsFunc(c.Rows, func(r Compared) bool {
		return r.Verdict != identical && !strings.HasPrefix(r.Verdict, "INVALID")
	}) {
		t.Errorf("a folder and itself: %+v", c)
	}
	c := Compare(a, changed(t))
	got := map[string]string{}
	for _, r := range c.Rows {
		got[r.Cell] = r.Verdict
		if (r.Ratio == nil) != strings.HasPrefix(r.Verdict, "INVALID") {
			t.Errorf("%s: ratio %v, %s", r.Cell, r.Ratio, r.Verdict)
		}
	}
	for cell, want := range map[string]string{"loss=0%/cubic": identical, "loss=0%/bbr": alikeWord, "loss=1%/cubic": faster,
		"loss=4%/cubic": "INVALID in the first (loss)", "loss=4%/bbr": identical} {
		if got[cell] != want {
			t.Errorf("%s: %q, want %q", cell, got[cell], want)
		}
	}
	if len(c.Differences) != 1 || !strings.HasPrefix(c.Differences[0], "kernel: 6.1.0") {
		t.Errorf("differences: %q", c.Differences)
	}
	back := Compare(changed(t), a)
	if r := back.Rows[2]; r.Verdict != slower || r.Ratio.High >= 1 {
		t.Errorf("the other way round: %+v", r)
	}
}

func TestCompareOtherCells(t *testing.T) {
	c := Compare(folder(t, smallText), folder(t, strings.Replace(smallText, "1%, 4%", "2%", 1)))
	var words []string
	for _, r := range c.Rows {
		words = append(words, r.Cell+" "+r.Verdict)
	}
	want := "loss=0%/cubic identical|loss=0%/bbr identical|loss=1%/cubic not in the second|loss=1%/bbr not in the second|" +
		"loss=4%/cubic INVALID in the first (loss); not in the second|loss=4%/bbr not in the second|" +
		"loss=2%/cubic not in the first|loss=2%/bbr not in the first"
	if got := strings.Join(words, "|"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Paired seeds divide out what they share: here the seed decides all but a tenth.
func TestComparePairs(t *testing.T) {
	make := func(factor float64) *Folder {
		f := &Folder{}
		f.Summary.Rows = []outcome.Row{{Cell: "x/bbr", Runs: 8, Paired: true, Goodput: &outcome.Interval{Median: factor, Low: factor, High: factor}}}
		for seed := range uint64(8) {
			f.Results = append(f.Results, outcome.Result{Cell: "x/bbr", Seed: seed, Valid: true,
				Metrics: &outcome.Metrics{GoodputBitPerS: factor * float64(1+seed*seed)}})
		}
		return f
	}
	if r := Compare(make(1), make(1.1)).Rows[0]; !r.Paired || r.Verdict != faster || r.Ratio.Low < 1.09 {
		t.Errorf("paired: %+v, %+v", r, r.Ratio)
	}
	b := make(1.1)
	b.Summary.Rows[0].Paired = false
	if r := Compare(make(1), b).Rows[0]; r.Paired || r.Verdict != unclear {
		t.Errorf("unpaired: %+v, %+v", r, r.Ratio)
	}
}

// One run has no interval: whatever the difference, it is not called faster or slower.
func TestCompareSingleRuns(t *testing.T) {
	runs := func(goodput ...float64) *Folder {
		f := &Folder{}
		for seed, g := range goodput {
			f.Results = append(f.Results, outcome.Result{Cell: "x/bbr", Seed: uint64(seed), Valid: true, Metrics: &outcome.Metrics{GoodputBitPerS: g}})
		}
		f.Summary.Rows = []outcome.Row{{Cell: "x/bbr", Runs: len(goodput), Goodput: &outcome.Interval{Median: goodput[0]}}}
		return f
	}
	for _, k := range []struct {
		a, b *Folder
		want string
	}{
		{runs(1), runs(9), "one run a side"},
		{runs(1), runs(1.01), "one run a side"},
		{runs(1), runs(1), "identical"},
		{runs(1), runs(9, 9, 9), "one run in the first"},
		{runs(9, 9, 9), runs(1), "one run in the second"},
		{runs(1, 1), runs(9, 9), "faster"},
	} {
		if r := Compare(k.a, k.b).Rows[0]; r.Verdict != k.want {
			t.Errorf("%d and %d runs: %s, want %s", len(k.a.Results), len(k.b.Results), r.Verdict, k.want)
		}
	}
}

func TestManifest(t *testing.T) {
	m := folder(t, smallText).Manifest
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*Manifest){
		"format 9":        func(m *Manifest) { m.Format = 9 },
		"scenario.sha256": func(m *Manifest) { m.Scenario.Text += " " },
		"scenario.name":   func(m *Manifest) { m.Scenario.Name = "a/b.yml" },
		"qemu.options":    func(m *Manifest) { m.QEMU = &QEMU{Options: []string{"-kernel", "/boot/vmlinuz"}} },
	} {
		bad := m
		spoil(&bad)
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if got := strings.Join(m.Again(), "\n"); got != "congctl lab run scenario.yml --world vm --seed 1 --out again\ncongctl lab compare . again" {
		t.Error(got)
	}
	m.Seeds, m.Cells = scenario.Seeds{First: 7, Count: 3}, []string{"loss=0.1%/bbr", "loss=1%/bbr"}
	if got := m.Again()[0]; got != `congctl lab run scenario.yml --world vm --seed 7 --seeds 3 --cells '^(loss=0\.1%/bbr|loss=1%/bbr)$' --out again` {
		t.Error(got)
	}
}
