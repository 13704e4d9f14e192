package change

import "github.com/congctl/congctl/internal/core/change"

// Adopt takes what a host has for a change of ours whose journal was lost: New is there,
// Old is what it is to go back to. Nothing is written but the journal, and that at once:
// whatever ends the undo half-way, the next one goes on towards Old.
func (e *Engine) Adopt(p change.Plan) (*change.Journal, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	var lines []change.Line
	for i := range p.Steps {
		lines = append(lines, change.Line{Event: change.Done, At: i, Now: &p.Steps[i].New})
	}
	return e.begin(p, append(lines, change.Line{Event: change.Apply})...)
}
