package popday

import "fmt"

const (
	// busyMost of the machine's CPU: above four fifths packets wait for the CPU, and it becomes
	// the bottleneck (the same as for a cell of the lab).
	busyMost = 0.80
	// brokenMost of the responses: a thousandth cannot move the 5th percentile.
	brokenMost = 0.001
)

// RunLine is a run with its validity.
type RunLine struct {
	Policy    string   `json:"policy"`
	Seed      uint64   `json:"seed"`
	Valid     bool     `json:"valid"`
	Broken    []string `json:"broken_gates,omitempty"` // why it is INVALID
	BusyShare float64  `json:"busy_share"`
	Softnet   uint64   `json:"softnet_dropped"`
	Responses int      `json:"responses"`
	Large     int      `json:"large"`
	Failed    int      `json:"failed"` // not complete
	DurationS float64  `json:"duration_s"`
}

// judge returns whether a run is valid. same is a run of the same seed, or nil.
func judge(r *Run, same *Run) RunLine {
	f := &r.Facts
	l := RunLine{Policy: f.Policy, Seed: f.Seed, BusyShare: f.BusyShare, Softnet: f.SoftnetDropped, Responses: len(r.Responses),
		Large: f.Large, DurationS: float64(f.DurationUs) / 1e6}
	for i := range r.Responses {
		if !r.Responses[i].whole() {
			l.Failed++
		}
	}
	bad := func(broken bool, format string, args ...any) {
		if broken {
			l.Broken = append(l.Broken, fmt.Sprintf(format, args...))
		}
	}
	bad(f.BusyShare > busyMost, "cpu: %.0f %% busy, at most %.0f %%: the machine was the bottleneck", 100*f.BusyShare, 100*busyMost)
	bad(f.SoftnetDropped > 0, "softnet: %d packets dropped by the machine, not by a path", f.SoftnetDropped)
	bad(len(r.Responses) == 0 || len(r.Responses) != f.Responses, "responses: %d in the folder, the facts say %d", len(r.Responses), f.Responses)
	bad(float64(l.Failed) > brokenMost*float64(len(r.Responses)), "broken: %d of %d responses are incomplete, at most %.1f %%",
		l.Failed, len(r.Responses), 100*brokenMost)
	if same != nil {
		bad(!sameSchedule(r, same), "schedule: differs from that of %s, which has the same seed", same.Facts.Name())
	}
	l.Valid = len(l.Broken) == 0
	return l
}

// id names a response in the schedule of its seed.
type id struct{ session, request int }

func (r *Response) id() id { return id{r.Session, r.Request} }

// sameSchedule reports whether both runs got the same requests.
func sameSchedule(a, b *Run) bool {
	asked := make(map[id]*Response, len(a.Responses))
	for i := range a.Responses {
		asked[a.Responses[i].id()] = &a.Responses[i]
	}
	for i := range b.Responses {
		r := &b.Responses[i]
		if o := asked[r.id()]; o != nil && (o.Asked != r.Asked || o.Network != r.Network || o.Fresh && o.StartUs/1e6 != r.StartUs/1e6 && late(o, r)) {
			return false
		}
	}
	return true
}

// late: a session starts when the schedule says, give or take the machine's time to wake up.
func late(a, b *Response) bool {
	return max(a.StartUs, b.StartUs)-min(a.StartUs, b.StartUs) > 1e6
}
