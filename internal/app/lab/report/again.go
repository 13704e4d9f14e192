package report

import (
	"fmt"
	"regexp"
	"strings"
)

// again are the commands that run a folder's scenario once more and compare.
func (m *Manifest) again() []string {
	run := fmt.Sprintf("congctl lab run scenario.yml --world %s --seed %d", m.World, m.Seeds.First)
	if m.Seeds.Max == 0 { // the command line asked for so many, and no more
		run += fmt.Sprintf(" --seeds %d", m.Seeds.Count)
	}
	if len(m.Cells) > 0 {
		var names []string
		for _, c := range m.Cells {
			names = append(names, regexp.QuoteMeta(c))
		}
		run += " --cells '^(" + strings.Join(names, "|") + ")$'"
	}
	return []string{run + " --out again", "congctl lab compare . again"}
}

// fact is a line of what it takes to get the same bytes.
type fact struct{ Name, Value string }

func (m *Manifest) facts() []fact {
	facts := []fact{
		{"congctl", m.Congctl.Version + ", SHA-256 " + m.Congctl.SHA256},
		{"scenario", m.Scenario.Name + ", SHA-256 " + m.Scenario.SHA256},
		{"seeds", seedWords(m)},
		{"world", m.World},
		{"kernel", strings.Join(present(m.Kernel.Release, m.Kernel.Source, prefixed("SHA-256 ", m.Kernel.SHA256)), ", ")},
		{"HZ", fmt.Sprint(m.HZ)},
	}
	if len(m.Cells) > 0 {
		facts = append(facts, fact{"cells", strings.Join(m.Cells, ", ")})
	}
	if m.QEMU != nil {
		facts = append(facts, fact{"QEMU", m.QEMU.Version}, fact{"its options", strings.Join(m.QEMU.Options, " ")})
	}
	return facts
}

func seedWords(m *Manifest) string {
	s := fmt.Sprintf("from %d on, %d a cell", m.Seeds.First, m.Seeds.Count)
	if m.Seeds.Max > m.Seeds.Count && m.Seeds.HalfWidth > 0 {
		s += fmt.Sprintf(", then more, up to %d, until the interval's half-width is below %s %% of the median", m.Seeds.Max, number(m.Seeds.HalfWidth/cent))
	}
	return s
}

func present(words ...string) (out []string) {
	for _, w := range words {
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
