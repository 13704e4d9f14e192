package rollout

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTexts: what an agent says is bounded, and no terminal acts on it.
func TestTexts(t *testing.T) {
	r := New("ams", nil, DefaultRules(), State{})
	bad := "\x1b[2J\u202e\xff" + strings.Repeat("ä", 5000)
	for _, name := range []string{"", bad, "a\nb", "a\u200eb", strings.Repeat("h", maxName+1)} {
		orders := r.Step(noonNs, Connect{Host: name})
		if len(orders) != 2 || orders[0].Do != OrderDrop || orders[0].Host != name || len(r.State.Hosts) != 0 {
			t.Errorf("host %.20q: %d orders, %d hosts", name, len(orders), len(r.State.Hosts))
		}
		checkPlain(t, orders[1].Text)
	}
	r.Step(noonNs, Connect{Host: "h", Boot: bad, Version: bad, Hash: bad})
	r.Step(noonNs, Offer{Plan: content(t, "1A5", noonNs)})
	for _, o := range r.Step(noonNs, Refusal{"h", 1, bad}) {
		checkPlain(t, o.Text)
	}
	h := r.State.Hosts["h"]
	for _, s := range []string{h.Boot, h.Version, h.Hash} {
		checkPlain(t, s)
	}
}

func checkPlain(t *testing.T, s string) {
	t.Helper()
	if len(s) > maxText+100 || !utf8.ValidString(s) || strings.ContainsAny(s, "\x1b\u202e\n") {
		t.Errorf("%d bytes: %.60q", len(s), s)
	}
}

// TestBound: a flood of hosts with long words leaves a state of a bounded size, and a host that is refused changes
// nothing.
func TestBound(t *testing.T) {
	rules := DefaultRules()
	rules.MaxHosts = 300
	r := New("ams", nil, rules, State{})
	long := strings.Repeat("x", 1000)
	for i := range 2 * rules.MaxHosts {
		name := fmt.Sprintf("h%d", i)
		r.Step(noonNs+int64(i), Connect{Host: name, Boot: long, Version: long, Hash: long})
		if i%2 == 0 {
			r.Step(noonNs+int64(i), Disconnect{name})
		}
	}
	b, err := json.Marshal(r.State)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.State.Hosts); n != rules.MaxHosts || len(b) > 800*rules.MaxHosts {
		t.Errorf("%d hosts, %d bytes", n, len(b))
	}
	t.Logf("%d bytes a host", len(b)/rules.MaxHosts)
	if r.Step(noonNs, Connect{Host: "one more"}); r.State.Hosts["one more"] != nil {
		t.Error("one host too many, and none had left")
	}
}
