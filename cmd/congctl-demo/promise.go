package main

import "fmt"

// promise is one thing that the demo shows, and whether it was so.
type promise struct {
	kept bool
	text string
}

// promisesOf holds the account against what congctl promises.
func promisesOf(all []verdict) []promise {
	var treat, control, before, stopped, resumed, small share
	selected, other, change := 0, 0, 0
	var denied verdict
	for _, v := range all {
		if v.term != nil {
			selected++
		}
		if v.denied {
			denied = v
		}
		treat.join(v.large[phaseTreat])
		control.join(v.large[phaseControl])
		before.join(v.large[phaseBefore])
		stopped.join(v.large[phaseStopped])
		resumed.join(v.large[phaseResumed])
		small.join(v.small)
		other += v.other
		change += v.large[phaseChange].all
	}
	deniedLarge := denied.large[phaseBefore]
	return []promise{
		{selected > 0, fmt.Sprintf("prefixes selected: %d of %d", selected, len(all))},
		{treat.whole(), fmt.Sprintf("large responses in treatment blocks on %s: %d of %d", treatment, treat.right, treat.all)},
		{control.clean(), fmt.Sprintf("large responses in control blocks on %s: %d of %d", defaultCong, control.right, control.all)},
		{before.whole(), fmt.Sprintf("large responses of prefixes not in the plan on %s: %d of %d", defaultCong, before.right, before.all)},
		{small.whole(), fmt.Sprintf("responses under %d bytes on %s: %d of %d", minBytes, defaultCong, small.right, small.all)},
		{denied.term == nil && deniedLarge.whole(), fmt.Sprintf("deny list held: %s, never selected, large responses on %s: %d of %d",
			denied.prefix, defaultCong, deniedLarge.right, deniedLarge.all)},
		{stopped.whole(), fmt.Sprintf("large responses while stopped on %s: %d of %d", defaultCong, stopped.right, stopped.all)},
		{resumed.whole(), fmt.Sprintf("large responses after resume on %s: %d of %d", treatment, resumed.right, resumed.all)},
		{other == 0, fmt.Sprintf("responses on neither %s nor %s: %d", defaultCong, treatment, other)},
		{true, fmt.Sprintf("not judged, since arm, plan or switch changed while they ran: %d large responses", change)},
	}
}

func (s *share) join(o share) {
	s.right += o.right
	s.all += o.all
}

// clean: none wrong. whole: besides, there were some.
func (s share) clean() bool { return s.right == s.all }
func (s share) whole() bool { return s.all > 0 && s.clean() }

// tell prints promises and reports whether all were kept.
func (s *screen) tell(list []promise) (kept bool) {
	kept = true
	for _, p := range list {
		mark := "ok  "
		if !p.kept {
			mark, kept = "FAIL", false
		}
		s.say("  %s  %s", mark, p.text)
	}
	return kept
}
