package report

import (
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
)

// Of several runs the first broken one is shown; broken outweighs exempt, exempt kept.
func TestGateRecords(t *testing.T) {
	gate := func(name string, ok bool, exempt, got string) outcome.Gate {
		return outcome.Gate{Name: name, OK: ok, Exempt: exempt, Got: got, Want: "w", Why: "y"}
	}
	f := &Folder{Results: []outcome.Result{
		{Cell: "x/a", Seed: 1, Gates: []outcome.Gate{gate("loss", true, "", "l1"), gate("mtu", false, "on purpose", "m1")}},
		{Cell: "x/a", Seed: 2, Gates: []outcome.Gate{gate("loss", false, "", "l2"), gate("mtu", false, "on purpose", "m2")}},
		{Cell: "x/a", Seed: 3, Gates: []outcome.Gate{gate("loss", false, "", "l3"), gate("mtu", true, "", "m3")}},
		{Cell: "x/b", Seed: 1, Gates: []outcome.Gate{gate("loss", true, "", "l4")}},
	}}
	g := &group{Rows: []line{{Row: &outcome.Row{Cell: "x/a"}}, {Row: &outcome.Row{Cell: "x/b", Stop: "1 seed, as asked for"}}}}
	got := page{Folder: f}.Gates(g)
	if r := got[0]; r.State != failed || r.Words != "broken: loss in 2 of 3" {
		t.Errorf("%+v", r)
	}
	if r := got[0].Rows[0]; r.State != failed || r.Got != "l2 (seed 2)" || r.Why != "y" {
		t.Errorf("%+v", r)
	}
	if r := got[0].Rows[1]; r.State != exempt || r.Got != "m1 (seed 1)" || r.Why != "on purpose" {
		t.Errorf("%+v", r)
	}
	if r := got[1]; r.State != kept || r.Words != "1 gate kept in 1 run; 1 seed, as asked for" {
		t.Errorf("%+v", r)
	}
}
