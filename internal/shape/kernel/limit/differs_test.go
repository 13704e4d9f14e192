package limit

import (
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/change"
)

// applied is a change in force of a boot; the file's limit is kept or no longer.
func applied(boot string, steps ...change.Step) *change.Journal {
	p := change.Plan{Header: change.Header{ID: "1", Subject: "shape eth0", Boot: boot}, Steps: steps}
	j := &change.Journal{Plan: p, State: change.NewState(p)}
	j.Phase = change.Applied
	return j
}

func limitTo(v string) change.Step {
	return change.Step{Kind: change.Egress, Target: "eth0", New: change.Text("shaped " + v + " 3028 103028 -")}
}

func incomingTo(v string) change.Step {
	return change.Step{Kind: change.Ingress, Target: "eth0", New: change.Text("shaped " + v + " 3028 103028 -")}
}

func unitWith(text string) change.Step {
	return change.Step{Kind: change.File, Target: "/etc/unit", New: change.FileText(text)}
}

// TestShouldHold: a boot takes a limit away, but for the one that the files keep.
func TestShouldHold(t *testing.T) {
	const keyfile = "[connection]\ninterface-name=eth0\n"
	kept, keptToo := unitWith("# Written by congctl shape set; congctl shape clear removes it.\n1"), unitWith("# Written by congctl shape set; congctl shape clear removes it.\n2")
	gone := change.Step{Kind: change.File, Target: "/etc/unit", Old: kept.New}
	stripped := change.Step{Kind: change.File, Target: "/etc/keyfile", Old: change.FileText(keyfile + "\n[tc]\nqdisc.root=handle c0c7: tbf rate 1 burst 3028 limit 103028\n"), New: change.FileText(keyfile)}
	for name, c := range map[string]struct {
		open []*change.Journal
		want []change.Step
	}{
		"this boot":                       {[]*change.Journal{applied("now", limitTo("1"))}, []change.Step{limitTo("1")}},
		"a boot since":                    {[]*change.Journal{applied("old", limitTo("1"))}, nil},
		"a boot since, kept":              {[]*change.Journal{applied("old", limitTo("1"), kept)}, []change.Step{limitTo("1"), kept}},
		"kept once it was confirmed":      {[]*change.Journal{applied("old", limitTo("1")), applied("old", kept)}, []change.Step{limitTo("1"), kept}},
		"kept no longer":                  {[]*change.Journal{applied("old", limitTo("1"), kept), applied("old", gone)}, []change.Step{gone}},
		"the keyfile was stripped":        {[]*change.Journal{applied("old", limitTo("1"), stripped)}, []change.Step{stripped}},
		"stripped, kept by another":       {[]*change.Journal{applied("old", limitTo("1"), kept, stripped)}, []change.Step{limitTo("1"), kept, stripped}},
		"another, not confirmed":          {[]*change.Journal{applied("old", limitTo("1"), kept), applied("old", limitTo("2"))}, []change.Step{limitTo("1"), kept}},
		"another, of this boot":           {[]*change.Journal{applied("old", limitTo("1"), kept), applied("now", limitTo("2"))}, []change.Step{kept, limitTo("2")}},
		"kept after a boot without":       {[]*change.Journal{applied("older", incomingTo("1")), applied("old", limitTo("2"), kept)}, []change.Step{limitTo("2"), kept}},
		"only the file changed a boot on": {[]*change.Journal{applied("older", limitTo("1"), kept), applied("old", keptToo)}, []change.Step{limitTo("1"), keptToo}},
	} {
		got := shouldHold(c.open, "now")
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %v\nwant %v", name, got, c.want)
		}
	}
}
