package outcome

import (
	"encoding/json"
	"testing"
)

func TestHonestRunIsValid(t *testing.T) {
	c := cell100()
	r := Judge(scenarioOf(c), &c, honest(&c))
	for _, g := range r.Gates {
		t.Logf("%-20s %v %s | %s | %s", g.Name, g.OK, g.Got, g.Want, g.Why)
		if !g.OK {
			t.Errorf("%s broken: %s, want %s (%s)", g.Name, g.Got, g.Want, g.Why)
		}
	}
	if !r.Valid || r.Metrics == nil {
		t.Fatal("not valid")
	}
	b, err := json.MarshalIndent(r.Metrics, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(string(b))
}
