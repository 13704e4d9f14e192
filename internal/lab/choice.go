package lab

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/lab/report"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// Choice is what the command line changes in a scenario.
type Choice struct {
	Cells string // regular expression that is found in the names of the cells to run; "": all
	First uint64 // seed; 0: the file's
	Count int    // seeds of each cell, no more and no less; 0: as the file says
}

// Choose notes a choice in a manifest that has its scenario's text.
func (c Choice) Choose(m *report.Manifest) error {
	s, err := scenario.Parse(m.Scenario.Name, []byte(m.Scenario.Text))
	if err != nil {
		return err
	}
	if m.Cells, err = c.names(s); err != nil {
		return err
	}
	m.Seeds = s.Seeds
	m.Seeds.Max = max(m.Seeds.Max, m.Seeds.Count)
	if c.First > 0 {
		m.Seeds.First = c.First
	}
	if c.Count > 0 {
		m.Seeds = scenario.Seeds{First: m.Seeds.First, Count: c.Count} // Max 0: for every cell
	}
	return nil
}

func (c Choice) names(s *scenario.Scenario) (names []string, err error) {
	if c.Cells == "" {
		return nil, nil
	}
	pattern, err := regexp.Compile(c.Cells)
	if err != nil {
		why := "not a regular expression"
		if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
			why += " (" + wrong.Code.String() + ")"
		}
		return nil, fmt.Errorf("--cells %q: %s; write a part of the cells' names, as loss=16%%", c.Cells, why)
	}
	var all []string
	for i := range s.Cells {
		all = append(all, s.Cells[i].ID)
		if pattern.MatchString(s.Cells[i].ID) {
			names = append(names, s.Cells[i].ID)
		}
	}
	if names == nil {
		return nil, fmt.Errorf("--cells %q: matches no cell of %s, which has %s", c.Cells, s.Name, strings.Join(all, ", "))
	}
	return names, nil
}

// Scenario returns what a manifest's folder runs: its text with the choice applied.
func Scenario(m *report.Manifest) (*scenario.Scenario, error) {
	s, err := scenario.Parse(m.Scenario.Name, []byte(m.Scenario.Text))
	if err != nil {
		return nil, err
	}
	if len(m.Cells) > 0 {
		s.Cells = slices.DeleteFunc(s.Cells, func(c scenario.Cell) bool { return !slices.Contains(m.Cells, c.ID) })
	}
	s.Seeds = m.Seeds
	for i := range s.Cells {
		if own := &s.Cells[i].Seeds; m.Seeds.Max == 0 { // see Choose
			*own = m.Seeds
		} else {
			own.First = m.Seeds.First
		}
	}
	return s, nil
}
