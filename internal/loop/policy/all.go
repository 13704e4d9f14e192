package policy

import (
	"fmt"

	"github.com/congctl/congctl/internal/tcp/record"
)

// All networks as one: with SelectAll every network is treated, one that nothing is known of too, but for those that are listed by
// themselves and those that may not be treated. They have one entry of the plan, whose blocks are drawn for the whole PoP, and one
// pair a group, of all their connections. One block in GroupPromoted is control for all of them at once, networks that share a line
// among them: what the treatment takes from one and gives to another is a gain in the control blocks of single networks, and no gain here.
//
//	in:  at once; no level, no measured guard, no trial
//	out: by the rules; or by the brake, since there is no other way out: harm in either outcome (effect.Harm), or cost without a gain

const allReason = "policy.select is all"

// treatsAll returns the selection of all networks, nil without one.
func (e *Engine) treatsAll() *Selected {
	if t, _ := e.find(record.All); t != nil {
		return t.chosen
	}
	return nil
}

// withAll returns the selection that treats a prefix together with all others; nil if none does.
func (e *Engine) withAll(t *track) *Selected {
	if t.chosen != nil || e.barred(t) != "" {
		return nil
	}
	return e.treatsAll()
}

// fileAll counts one window of the networks that are treated together.
func (e *Engine) fileAll(all []sighting) {
	if e.treatsAll() == nil {
		return
	}
	var rows []*record.Window
	for i := range all {
		if own, _ := e.find(all[i].prefix); own == nil || own.chosen == nil {
			rows = append(rows, all[i].rows...)
		}
	}
	if len(rows) > 0 {
		t, _ := e.find(record.All)
		e.file(t, rows)
	}
}

// verdictAll says what follows for a prefix that has no entry of its own.
func (e *Engine) verdictAll(t *track) []string {
	if e.barred(t) != "" {
		return []string{"Not treated: " + e.held(t, e.listed(t), Pool{}) + "."}
	}
	s := e.treatsAll()
	if s == nil {
		return e.verdictListed(allReason)
	}
	return []string{fmt.Sprintf("Treated with all networks since %s: %s.", timeText(s.Since), s.Reason), e.blocksText(s) + " congctl explain all has what they show together."}
}

// blocksText says which blocks are treated.
func (e *Engine) blocksText(s *Selected) string {
	if s.Uncontrolled {
		return "Treated in every block, so its effect is not known: treatment.control is off."
	}
	n := e.rules.Trial.GroupLen(s)
	return fmt.Sprintf("Treated in %d of %d blocks, the same for the whole PoP.", n-1, n)
}
