package scenario

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/strict"
)

// maxCells of a scenario: at ten real seconds each a thousand are three hours.
const maxCells = 1000

// maxSteps of all cells' schedules, 32 bytes each.
const maxSteps = 1_000_000

// expand makes the cells: the axes' values in the file's order, the last axis fastest,
// then the arms, so that the arms to compare are adjacent.
func (r *reader) expand(f *file) *Scenario {
	s := &f.Scenario
	s.Seeds = f.base.cell.Seeds.complete()
	if f.full {
		s.Arms = crossed(s.Arms)
	}
	r.checkWheres(f)
	if n := f.size(); n > maxCells {
		r.Faults.AddOnce(strict.Fault{Field: "matrix", Problem: fmt.Sprintf("more than %d cells; split the file", maxCells)})
	}
	if len(r.Faults) > 0 {
		return nil
	}
	r.walk(f, f.base, nil)
	if r.Faults = append(r.Faults, f.wrong...); len(r.Faults) == 0 {
		r.checkUsed(f)
		r.checkSame(s)
	}
	return s
}

func (f *file) size() int {
	n := len(f.Arms)
	for _, a := range f.axes {
		n = min(n*len(a.points), maxCells+1)
	}
	return n
}

// walk goes through the matrix, one axis a level.
func (r *reader) walk(f *file, d draft, at []AxisValue) {
	if len(at) < len(f.axes) {
		a := f.axes[len(at)]
		for _, p := range a.points {
			next := d.clone()
			r.apply(&next, a, p)
			r.walk(f, next, append(slices.Clip(at), AxisValue{a.name, p.name}))
		}
		return
	}
	for _, w := range f.wheres {
		if w.matches(at) {
			r.override(&d, w)
		}
	}
	n := 0
	for _, fl := range d.flows {
		n += fl.count
	}
	if n > maxFlows {
		r.Faults.AddOnce(strict.Fault{Line: d.line["flows"], Field: "flows", Problem: fmt.Sprintf("more than %d flows; use fewer", maxFlows)})
	}
	if len(r.Faults) == 0 {
		r.cells(f, &d, at)
	}
}

// cells makes one point's cells, one for each arm.
func (r *reader) cells(f *file, d *draft, at []AxisValue) {
	for _, arm := range f.Arms {
		c := d.resolve(f.Name, arm, at)
		if f.steps += len(c.Path.Schedule); f.steps > maxSteps {
			r.Faults.AddOnce(strict.Fault{Field: "schedule", Problem: fmt.Sprintf("more than %d steps in all cells; make them longer", maxSteps)})
			return
		}
		f.check(d, &c)
		f.Cells = append(f.Cells, c)
	}
}

func (w where) matches(at []AxisValue) bool {
	for _, v := range at {
		if values, asked := w.match[v.Name]; asked && !slices.Contains(values, v.Value) {
			return false
		}
	}
	return true
}

// override applies a where: it may change what axes set.
func (r *reader) override(d *draft, w where) {
	r.Each(w.node, "where", func(key string, k, v *strict.Node) {
		if key != "match" {
			r.section(d, key, k, v, append([]string{"match"}, overridable...))
		}
	})
}

// check adds the cell's own faults, each at the line that set its field.
func (f *file) check(d *draft, c *Cell) {
	for _, key := range []string{"path.rate", "path.rtt"} {
		if d.line[key] == 0 {
			f.wrong.AddOnce(strict.Fault{Part: "cell " + c.ID, Field: key, Problem: "missing; set it, or vary it in the matrix"})
			return
		}
	}
	for _, fault := range c.faults() {
		fault.Part, fault.Line = "cell "+c.ID, d.line[fault.Field]
		f.wrong.AddOnce(fault)
	}
}

// usedBy reports which cells use a key; the others leave it out, so that an axis may cover
// bottlenecks or arms of which not all have a bucket or a queue.
var usedBy = map[string]func(*Cell) bool{
	"path.burst":       func(c *Cell) bool { return c.Path.BurstBytes > 0 },
	"path.buffer":      func(c *Cell) bool { return c.Path.BufferPacket > 0 },
	"sender.tbf_rate":  func(c *Cell) bool { return c.Sender.Qdisc == Tbf },
	"sender.tbf_burst": func(c *Cell) bool { return c.Sender.Qdisc == Tbf },
	"sender.tbf_limit": func(c *Cell) bool { return c.Sender.Qdisc == Tbf },
}

// checkUsed refuses a key that the file sets and no cell uses.
func (r *reader) checkUsed(f *file) {
	for _, field := range slices.Sorted(maps.Keys(usedBy)) {
		line, heeds := f.base.line[field], func(c Cell) bool { return usedBy[field](&c) }
		if line > 0 && !slices.ContainsFunc(f.Cells, heeds) {
			r.Faults.AddOnce(strict.Fault{Line: line, Field: field, Problem: "no cell uses it; add the bottleneck or the arm that does, or remove it"})
		}
	}
}

// checkSame refuses cells that differ in name only: an axis without effect, one value
// in two spellings, arms that no flow follows.
func (r *reader) checkSame(s *Scenario) {
	seen, ids := map[string]string{}, map[string]bool{}
	for _, c := range s.Cells {
		id := c.ID
		if ids[id] {
			r.Faults.AddOnce(strict.Fault{Part: "cell " + id, Problem: "a second cell of this name; rename the arm or the points"})
		}
		ids[id] = true
		c.ID, c.Axes, c.Arm = "", nil, Arm{}
		body, err := json.Marshal(c)
		if err != nil {
			r.Faults.AddOnce(strict.Fault{Part: "cell " + id, Problem: err.Error()})
			return
		}
		if first, twice := seen[string(body)]; twice {
			r.Faults.AddOnce(strict.Fault{Part: "cell " + id, Problem: fmt.Sprintf("the same as %s; one of the axes or arms has no effect here", first)})
			return
		}
		seen[string(body)] = id
	}
}

// id is unique within a scenario and, apart from its one slash, fit for a file name.
func id(scenario string, at []AxisValue, arm Arm) string {
	var words []string
	for _, v := range at {
		words = append(words, v.Name+"="+strings.NewReplacer(" ", "_", "/", "_").Replace(v.Value))
	}
	if len(words) == 0 {
		words = []string{scenario}
	}
	return strings.Join(words, ",") + "/" + arm.Name
}
