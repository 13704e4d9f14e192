package change

import "testing"

// TestLinkGone: with a link all goes that was of it, and a setting does not.
func TestLinkGone(t *testing.T) {
	for kind, want := range map[Kind]Act{Egress: Leave, Ingress: Leave, TSO: Leave, GSO: Leave, Qdisc: Leave, Sysctl: Object, Module: Object, File: Object} {
		p := sample()
		p.Steps = []Step{{Kind: kind, Target: "eth0", Old: Text("1"), New: Text("2")}}
		j := &Journal{Plan: p, State: NewState(p)}
		for _, l := range []Line{{Event: Intend}, {Event: Done, Now: &p.Steps[0].New}, {Event: Apply}} {
			if err := j.Take(l); err != nil {
				t.Fatal(err)
			}
		}
		if v := j.Backward(0, Absent, false); v.Act != want {
			t.Errorf("%s: %+v", kind, v)
		}
	}
}

// TestDestination: the way back leads through what older changes made, up to the first
// value that is somebody's, and by force through that, too.
func TestDestination(t *testing.T) {
	chain := func(values ...string) (all []*Journal) {
		for i := 0; i < len(values); i += 2 {
			p := sample()
			p.Steps = []Step{{Kind: Sysctl, Target: "cc", Old: Text(values[i]), New: Text(values[i+1])}}
			j := &Journal{Plan: p, State: NewState(p)}
			for _, l := range []Line{{Event: Intend}, {Event: Done, Now: &p.Steps[0].New}, {Event: Apply}} {
				if err := j.Take(l); err != nil {
					t.Fatal(err)
				}
			}
			all = append(all, j)
		}
		return all
	}
	for _, c := range []struct {
		values       []string
		want, forced string
	}{
		{[]string{"a", "b"}, "a", "a"},
		{[]string{"a", "b", "b", "c", "c", "d"}, "a", "a"},
		{[]string{"a", "b", "theirs", "c", "c", "d"}, "theirs", "a"},
		{[]string{"a", "b", "a", "c"}, "a", "a"},
	} {
		all := chain(c.values...)
		last := len(all) - 1
		for force, want := range map[bool]string{false: c.want, true: c.forced} {
			if got := all[last].Destination(0, all[:last], force); got.Text != want {
				t.Errorf("%q, force %t: to %s, want %s", c.values, force, got.Text, want)
			}
		}
	}
}
