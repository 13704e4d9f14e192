package simulate

import (
	"math"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/simulate/city"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// tally is what is counted during a walk through a city.
type tally struct {
	o        CityOptions
	city     *city.City
	force    *force
	lives    []life
	late     bool // the last day, or the second half of a shorter run, has begun
	lateFrom int64

	changes  int // added and released, while late or after the first day
	rounds   int
	boundary stat.Mean // bytes/s, while late
	braked   string

	now    []bool // by place: treated in the present window
	worlds [len(worldNames)]rates
	truth  *truth

	promotions, retrials int // events

	conns, vain         float64 // eligible connections, and those of prefixes in the plan that gain nothing
	lateConns, lateVain float64 // of them in the last settledHours
	settled             bool    // now is in them
}

// settledHours, the last of a run: by then belief knows what others lose, so what is in vain still will stay so.
const settledHours = 4

// life is what became of one place. Times are in rounds, 0 is never.
type life struct {
	in, promoted         bool
	entered              int64 // the last time
	selected, trusted    int64 // the first time
	wait                 int64 // from the selection before it to the first promotion
	entries, left, given int   // times; windows of treatment
	demoted              bool
}

// The worlds whose connections are compared: the loop's, and four that know more or
// less than it. All have the same connections.
const (
	worldLoop = iota
	worldNone
	worldOracle
	worldAll
	worldGain
)

var worldNames = [...]string{worldLoop: "the loop", worldNone: "none", worldOracle: "those helped", worldAll: "all", worldGain: "where it is faster"}

func newTally(o CityOptions, c *city.City, f *force) *tally {
	t := &tally{o: o, city: c, force: f, lives: make([]life, len(c.Places)), now: make([]bool, len(c.Places)), truth: newTruth(o, c, f)}
	c.Seen = t.seen
	day := 86400 / o.Rules.WindowSeconds
	windows := int64(o.Hours) * 3600 / o.Rules.WindowSeconds
	t.lateFrom = max(windows-day, windows/2)
	return t
}

// begin is called before window n, from 0.
func (t *tally) begin(n int64) {
	t.late = n >= t.lateFrom
	t.settled = (int64(t.o.Hours)-settledHours)*3600 <= n*t.o.Rules.WindowSeconds
	t.truth.begin()
}

func (t *tally) serve(place int, s city.Served) {
	t.now[place] = s.Arm == record.ArmTreatment
	if t.now[place] {
		t.lives[place].given++
	}
	t.truth.serve(place, s)
}

// seen files one connection in every world.
func (t *tally) seen(place int, c city.Conn) {
	t.truth.seen(place, c)
	p := &t.city.Places[place]
	vain := 0.0
	if t.lives[place].in && p.Factor < useless && t.force.treatable(place) {
		vain = 1
	}
	t.conns, t.vain = t.conns+1, t.vain+vain
	if t.settled {
		t.lateConns, t.lateVain = t.lateConns+1, t.lateVain+vain
	}
	if !t.late {
		return
	}
	t.worlds[worldLoop].add(c.Now)
	for world, treated := range [...]bool{worldLoop: false, worldNone: false, worldOracle: p.Helped(), worldAll: true, worldGain: p.Factor > 1} {
		switch {
		case world == worldLoop:
		case treated:
			t.worlds[world].add(c.On)
		default:
			t.worlds[world].add(c.Off)
		}
	}
}

// round files a decision; n counts from 1.
func (t *tally) round(n int64, d policy.Decision) {
	if t.late {
		t.boundary.Add(d.BoundaryBytesPerS, 1)
	}
	if d.Brake != "" && t.braked == "" {
		t.braked = d.Brake
	}
	for _, e := range d.Events {
		t.told(e)
	}
	changed := 0
	for i := range t.lives {
		if t.lives[i].step(n, t.force.of(i)) {
			changed++
		}
	}
	if n*t.o.Rules.WindowSeconds > min(86400, int64(t.o.Hours)*1800) {
		t.changes += changed
		t.rounds++
	}
}

// told counts verdicts.
func (t *tally) told(e policy.Event) {
	place, ok := t.force.at[e.Prefix]
	if !ok {
		return
	}
	switch e.Kind {
	case policy.EventPromoted:
		t.promotions++
	case policy.EventRetrial:
		t.retrials++
	case policy.EventDemoted:
		t.lives[place].demoted = true
	}
}

// step follows one place into the state after a round, and returns whether it entered or
// left the plan.
func (l *life) step(n int64, s *policy.Selected) (changed bool) {
	in := s != nil
	changed = in != l.in
	switch {
	case changed && in:
		l.entries++
		l.entered = n
		if l.selected == 0 {
			l.selected = n
		}
	case changed:
		l.left++
	}
	l.in, l.promoted = in, in && s.State == policy.StatePromoted
	if l.promoted && l.trusted == 0 {
		l.trusted, l.wait = n, n-l.entered
	}
	return changed
}

// rates is a histogram of ln(rate): bins of 0.001 determine a quantile to 0.1 %.
type rates struct {
	counts [rateBins]uint32
	n      uint64
}

const (
	rateBins   = 20_000
	rateBin    = 0.001
	rateLowest = 4 // ln: 55 bytes/s; the highest is e^24, 212 Gbit/s
)

func (r *rates) add(ln float64) {
	i := int((ln - rateLowest) / rateBin)
	r.counts[min(max(i, 0), rateBins-1)]++
	r.n++
}

// quantile returns ln of the rate below which a share of the connections are.
func (r *rates) quantile(q float64) float64 {
	want, seen := q*float64(r.n), 0.0
	for i, c := range r.counts {
		if seen += float64(c); seen >= want && c > 0 {
			return rateLowest + rateBin*(float64(i+1)-(seen-want)/float64(c))
		}
	}
	return math.NaN()
}
