package rollout

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAlways: whatever happens, in any order, what [world.step] checks holds; and once hosts and controller
// behave, the PoP settles within the limits and every host has the settled plan.
func TestAlways(t *testing.T) {
	seen := map[Stage]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		w.settle()
		for range rapid.IntRange(5, 120).Draw(rt, "steps") {
			w.happen()
			seen[w.r.State.Stage]++
			if w.r.State.Waiting != nil {
				seen["waiting"]++
			}
		}
		w.checkEnds(rapid.Bool().Draw(rt, "silent"))
	})
	if testing.Short() {
		return // with a fifth of the histories
	}
	// The histories must have been in every stage, or they prove little.
	for _, s := range []Stage{StageSettled, StageCanary, StageShare, StageAll, StageBack, StageDirect, "waiting"} {
		if seen[s] == 0 {
			t.Errorf("no step in stage %q: %v", s, seen)
		}
	}
}

// settle connects most hosts and gives them a plan.
func (w *world) settle() {
	for _, name := range w.names() {
		if rapid.IntRange(0, 4).Draw(w.t, "away") > 0 {
			w.connect(name)
		}
	}
	w.offer("A", 2, "")
	for range 6 {
		w.all("right")
	}
}

func (w *world) names() []string { return slices.Sorted(maps.Keys(w.agents)) }

// all agents read an order, each as how says.
func (w *world) all(how string) {
	for _, name := range w.names() {
		w.read(name, how)
	}
}

// happen draws one thing that happens. Right answers are more frequent than all else: otherwise
// nothing would get beyond its canary.
func (w *world) happen() {
	name := rapid.SampledFrom(w.names()).Draw(w.t, "host")
	switch rapid.SampledFrom([]string{"right", "right", "right", "right", "right", "round", "round", "offer", "offer",
		"offer", "wrong", "connect", "connect", "come", "leave", "reboot", "answer", "answer", "lost", "time", "time", "late", "hand", "flag", "calm", "calm",
		"operator", "restart"}).Draw(w.t, "what") {
	case "right":
		w.read(name, "right")
	case "round": // all answer at once
		w.all("right")
	case "offer":
		w.offer(rapid.SampledFrom([]string{"A", "B", "C", "D", "E"}).Draw(w.t, "content"), rapid.IntRange(1, 3).Draw(w.t, "n"), "")
	case "wrong":
		w.read(name, rapid.SampledFrom([]string{"lose", "refuse", "miscount", "unheard"}).Draw(w.t, "how"))
	case "connect":
		if !w.agents[name].connected {
			w.connect(name)
		}
	case "come":
		w.connect(name)
	case "leave":
		w.disconnect(name)
	case "reboot":
		w.reboot(name)
	case "hand": // somebody copied a plan of another controller
		a := w.agents[name]
		w.disconnect(name)
		a.has, a.spoilt = Plan{Serial: w.top + 3, Hash: "hand", Content: "H", Prefixes: 1}, true
		w.connect(name)
	case "answer":
		w.answer()
	case "lost":
		w.writes = nil
	case "time":
		w.pass(time.Duration(rapid.IntRange(1, 20).Draw(w.t, "s")) * time.Second)
	case "late":
		w.pass(time.Duration(rapid.IntRange(60, 700).Draw(w.t, "s")) * time.Second)
	case "flag":
		w.flag()
	case "calm": // most of the time nothing is stopped
		w.step(Kill{false})
		w.step(Freeze{false, "ann"})
	case "operator":
		w.operate()
	case "restart":
		w.restart()
	}
}

func (w *world) flag() {
	on := rapid.Bool().Draw(w.t, "on")
	switch rapid.SampledFrom([]string{"kill", "freeze", "brake"}).Draw(w.t, "flag") {
	case "kill":
		w.step(Kill{on})
	case "freeze":
		w.pushed = w.pushed && w.r.State.Frozen
		w.step(Freeze{on, "ann"})
	case "brake":
		w.step(Kill{true})
		w.offer("Z", 0, "")
	}
}

func (w *world) operate() {
	switch rapid.SampledFrom([]string{"push", "abort"}).Draw(w.t, "operator") {
	case "push":
		w.offer(rapid.SampledFrom([]string{"A", "F"}).Draw(w.t, "content"), 2, "ann")
	case "abort":
		w.step(Abort{"ann"})
	}
}

// checkEnds: with a controller that answers, what rolls out ends within the three stages' limits and the
// roll-back's, even of hosts that say nothing; a plan that no host could take, by its expiry. With
// hosts that answer, all then have the settled plan.
func (w *world) checkEnds(silent bool) {
	w.quiet(5*60, silent)
	if s, due := w.r.State.Stage, w.r.names(func(h *Host) bool { return h.Due }); s != StageSettled && (s != StageCanary || len(due) > 0) {
		w.t.Fatalf("still in stage %s: %+v", s, w.r.State)
	}
	w.quiet(planLifeS, silent)
	if s := w.r.State.Stage; s != StageSettled {
		w.t.Fatalf("still in stage %s: %+v", s, w.r.State)
	}
	w.top += 3
	w.step(Kill{false})
	w.step(Freeze{false, "ann"})
	for _, name := range w.names() {
		if !w.agents[name].connected {
			w.connect(name)
		}
	}
	w.offer("Y", 7, "")
	for range 40 {
		w.pass(5 * time.Second)
		for _, name := range w.names() {
			for len(w.agents[name].inbox) > 0 {
				w.read(name, "right")
			}
		}
	}
	for name, a := range w.agents {
		if h := w.r.State.Hosts[name]; a.has.Content != "Y" || h.Astray || a.stopped || !h.Acked {
			w.t.Fatalf("%s has plan %d of %d, %+v", name, a.has.Serial, w.r.State.Base.Serial, h)
		}
	}
}

// quiet lets seconds pass in which the controller answers and agents do not.
func (w *world) quiet(seconds int, silent bool) {
	for range seconds / 5 {
		w.pass(5 * time.Second)
		for len(w.writes) > 0 {
			w.answer()
		}
		for _, name := range w.names() {
			for silent && len(w.agents[name].inbox) > 0 {
				w.read(name, "lose")
			}
		}
	}
}
