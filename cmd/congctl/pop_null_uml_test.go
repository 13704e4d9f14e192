package main

import "testing"

// TestLabPopNoEffect: connections that outlive blocks, under a treatment that changes
// nothing but a name, show no effect, promote nothing and pull no brake.
func TestLabPopNoEffect(t *testing.T) {
	needProgram(t) // for cubic-twin, which no other kernel has
	d := runDay(t, "no-effect")
	if n := congsOf(t, d.dir, everyone); n["cubic-twin"] < 100 {
		t.Errorf("responses by congestion control: %v", n)
	}
	if wrong := d.of("promoted", "demoted", "brake"); len(d.of("selected")) == 0 || len(wrong) > 0 {
		t.Errorf("%+v", wrong)
	}
	v := effectOfDay(t, "no-effect", d.dir)
	for _, e := range v.Estimates {
		for _, q := range e.Ratios {
			t.Logf("%s, %d pairs: %+v", e.Metric, e.Pairs, q)
			if showsEffect(q) {
				t.Errorf("%s: x %.2f (%.2f to %.2f)", e.Metric, q.Ratio, q.Low, q.High)
			}
		}
	}
}
