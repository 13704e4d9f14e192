package change

import "slices"

// Destination is what step i goes back to where older changes, the oldest first, are taken
// back right after it. What one of those would write over is not made again on the way:
// perhaps it no longer can be.
func (j *Journal) Destination(i int, older []*Journal, force bool) Value {
	v := j.Marks[i].Back()
	for _, o := range slices.Backward(older) {
		k := slices.IndexFunc(o.Steps, j.Steps[i].sameTarget)
		if k >= 0 && o.Backward(k, v, force).Act == Write {
			v = o.Marks[k].Back()
		}
	}
	return v
}

func (s Step) sameTarget(o Step) bool { return s.Kind == o.Kind && s.Target == o.Target }
