package popday

// DrawnNetwork is one network whose path the seed drew, with what its large responses had under
// each policy: for a person who judges whether a policy chose well.
type DrawnNetwork struct {
	Seed    uint64 `json:"seed"`
	Network int    `json:"network"`
	Class   string `json:"class"`
	Line

	Median       float64 `json:"median_bytes_per_s"` // under the default
	RetransShare float64 `json:"retrans_share"`      // the same
	Beside       []Ratio `json:"under"`
}

// Ratio is a network's median goodput under a policy, relative to the default.
type Ratio struct {
	Policy  string    `json:"policy"`
	Ratio   *Interval `json:"ratio,omitempty"`
	Verdict string    `json:"verdict"`
}

// drawnNetworks of all seeds; those of another server are left out.
func drawnNetworks(in *Input, t *table, each []NetworkRow) (out []DrawnNetwork) {
	o := t.place(t.base)
	if !in.Day.Drawn() || o < 0 {
		return nil
	}
	under := map[[2]uint64][]Ratio{}
	for _, n := range each {
		k := [2]uint64{n.Seed, uint64(n.Network)}
		under[k] = append(under[k], Ratio{n.Policy, n.Ratio, n.Verdict})
	}
	drawn := map[string]bool{}
	for i := range in.Day.Classes {
		drawn[in.Day.Classes[i].Name] = in.Day.Classes[i].Drawn() && !in.Day.Classes[i].Theirs()
	}
	for i, seed := range t.seeds {
		if t.runs[i][o] == nil {
			continue
		}
		base := mediansOf(t.runs[i][o])
		for n, w := range in.Day.World(seed).Networks {
			if n >= len(base) || !drawn[w.Class] {
				continue
			}
			out = append(out, DrawnNetwork{Seed: seed, Network: n, Class: w.Class, Line: lineOf(w.Path), Median: base[n].rate, RetransShare: base[n].again,
				Beside: under[[2]uint64{seed, uint64(n)}]})
		}
	}
	return out
}
