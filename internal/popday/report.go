package popday

import (
	"fmt"
	"slices"
)

// Report is the comparison of a day's runs.
type Report struct {
	Day        string     `json:"day"`
	About      string     `json:"about"`
	Notes      string     `json:"notes,omitempty"`
	Assumed    string     `json:"day_is_assumed,omitempty"` // the runs' folders do not have the day's text: where it is from
	Kernel     string     `json:"kernel"`
	LengthS    int64      `json:"length_s"`
	Experiment Experiment `json:"experiment"`
	Settings   []Setting  `json:"settings"`
	Mix        []Class    `json:"mix"`
	Networks   []Network  `json:"networks"`
	Runs       []RunLine  `json:"runs"`

	Comparison Comparison   `json:"comparison"`
	Each       []NetworkRow `json:"each_network"`
	Stories    []Story      `json:"loops"`
	Effects    []Effect     `json:"effects"`
	Shams      []Sham       `json:"aa,omitempty"`
	Regression Regression   `json:"regression_to_the_mean"`
	Courses    []Course     `json:"courses"`
	Shapes     []Shape      `json:"distributions"`
	Tellings   []Telling    `json:"telling"`
	Expected   []Expected   `json:"expected"`

	Lead       string         `json:"leading_loop"` // the policy that the page begins with
	Classes    []ClassRow     `json:"each_class"`
	LongHarms  []LongHarm     `json:"harmed_while_treated,omitempty"`
	Signatures []Signature    `json:"signatures,omitempty"`
	Drawn      []DrawnNetwork `json:"drawn_networks,omitempty"`
}

// Network is one client network.
type Network struct {
	Number int    `json:"number"`
	Class  string `json:"class"`
	Prefix string `json:"prefix"`
}

// Shape is the distribution of large responses' goodput under one policy: at each hundredth,
// bytes/s.
type Shape struct {
	Policy    string    `json:"policy"`
	BytesPerS []float64 `json:"bytes_per_s"`
}

// loopPolicy is congctl as the day configures it.
const loopPolicy = "loop"

// Build compares the runs. It adds their responses to their loops' pairs, so an input can be
// used only once.
func Build(in *Input) (*Report, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	slices.SortFunc(in.Runs, compareRuns)
	rep := &Report{Day: in.Day.Name, About: in.Day.About, Notes: in.Day.Notes, Assumed: in.Assumed, Kernel: kernels(in), LengthS: int64(in.Day.EndUs / 1e6),
		Experiment: in.Experiment, Settings: in.Settings, Mix: mixOf(in)}
	for i, n := range in.Runs[0].Facts.Networks {
		rep.Networks = append(rep.Networks, Network{i, n.Class, n.Prefix.String()})
	}
	valid := map[string]bool{}
	for i := range in.Runs {
		l := judge(&in.Runs[i], firstOfSeed(in, in.Runs[i].Facts.Seed, i))
		rep.Runs = append(rep.Runs, l)
		valid[in.Runs[i].Facts.Name()] = l.Valid
	}
	for _, r := range oracles(in, valid) {
		in.Runs, valid[r.Facts.Name()] = append(in.Runs, r), true
	}
	t := newTable(in, func(r *Run) bool { return valid[r.Facts.Name()] })
	rep.fill(in, t)
	return rep, nil
}

// firstOfSeed returns the run whose schedule the others of its seed must match: the first one
// before i.
func firstOfSeed(in *Input, seed uint64, i int) *Run {
	for k := range in.Runs[:i] {
		if in.Runs[k].Facts.Seed == seed {
			return &in.Runs[k]
		}
	}
	return nil
}

func kernels(in *Input) string {
	var names []string
	for i := range in.Runs {
		if k := in.Runs[i].Facts.Kernel; !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	if len(names) > 1 {
		return fmt.Sprintf("%d different: %v", len(names), names)
	}
	return names[0]
}

func (rep *Report) fill(in *Input, t *table) {
	c, comparison := compare(in, t)
	rep.Comparison = comparison
	rep.Each = c.eachNetwork()
	tally(rep.Each, rep.Comparison.Policies)
	rep.Lead = leadOf(t)
	for p := range t.policies {
		for _, row := range t.runs {
			if row[p] == nil || row[p].Loop == nil || t.policies[p] == switched || t.policies[p] == allCapped {
				continue
			}
			rep.Stories = append(rep.Stories, tell(in, row[p]))
		}
		rep.Comparison.Policies[p].Vain = c.vain(p, rep.Stories)
	}
	rep.Tellings = c.tellings(rep)
	rep.Regression = regress(in, t)
	for _, name := range loopsIn(t) {
		rep.estimate(newBlocks(in, t, name), name)
	}
	rep.Classes, rep.LongHarms = c.classRows(rep.Mix), c.longHarms(in)
	rep.Signatures, rep.Drawn = signatures(t, rep), drawnNetworks(in, t, rep.Each)
	rep.Courses = courses(in, t, rep.Mix)
	rep.Shapes = c.shapes()
	for _, name := range loopsIn(t) {
		rep.Expected = append(rep.Expected, expected(in, rep, name)...)
	}
}

// estimate adds what the randomised blocks of one loop say; b is nil without any.
func (rep *Report) estimate(b *blocks, name string) {
	if b == nil {
		return
	}
	chosen := map[int]int{}
	for i := range rep.Stories {
		if s := &rep.Stories[i]; s.Policy == name {
			for _, n := range s.selected() {
				chosen[n]++
			}
		}
	}
	for _, e := range b.effects(rep.Mix, chosen) {
		e.Policy = name
		rep.Effects = append(rep.Effects, e)
	}
	if s := b.shamOf(); s != nil {
		s.Policy = name
		rep.Shams = append(rep.Shams, *s)
	}
	if name == rep.Lead {
		rep.Regression.before(b)
	}
}

// shapes of all policies.
func (c *comparer) shapes() (out []Shape) {
	for p, name := range c.policies {
		s := c.get("large", p, p, false)
		if len(s.values) == 0 {
			continue
		}
		shape := Shape{Policy: name}
		for i := range 101 {
			shape.BytesPerS = append(shape.BytesPerS, s.values[i*(len(s.values)-1)/100])
		}
		out = append(out, shape)
	}
	return out
}
