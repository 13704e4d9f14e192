package city

import (
	"fmt"
	"math"
	"strings"

	"github.com/congctl/congctl/internal/tcp/record"
)

// World is the set of nuisances that a city has: what real clients do and the model without them does
// not. None is on by itself.
type World uint32

// The nuisances. Sizes are chosen to hurt, not measured, except those of Measured.
const (
	Mild       World = 1 << iota // who gains gains 1.3 to 2 times, not 2 to 10
	Three                        // who gains gains 1.5 times, and every network has three connections a window
	Measured                     // effects drawn from those measured in the lab, by kind of path
	Hourly                       // effects grow and shrink by 80 % with the load of the day
	Level                        // effects are twice as large at e^-0.5 of the usual level, and none at e^0.5
	Neighbours                   // four networks share a line, where a treated connection gets twice an untreated one's share
	Video                        // up to 80 % of a network's connections are limited by the application to 3 Mbit/s
	Mobile                       // the level of every fifth network drifts by 0.6
	Rerouting                    // levels jump, by 0.7 (standard deviation of ln), twice a day
	Paths                        // 20 to 80 % of a network's connections take a second path: four times as fast, without any effect
	Load                         // who is slow opens more connections: elasticity -1
	Shifts                       // all levels shift together, by 0.4 (standard deviation of ln), each half hour
	Site                         // the lines of Neighbours are of four networks side by side
	Lab                          // effects, rates, round trips and losses of paths measured in the lab, by kind of path
)

// Worlds lists the nuisances by name, and all of them that do not exclude one another.
var Worlds = []struct {
	Name string
	World
}{
	{"mild", Mild}, {"three", Three}, {"measured", Measured}, {"hourly", Hourly}, {"level", Level}, {"neighbours", Neighbours},
	{"video", Video}, {"mobile", Mobile}, {"rerouting", Rerouting}, {"paths", Paths}, {"load", Load}, {"shifts", Shifts}, {"site", Site}, {"lab", Lab},
	{"all", Measured | Hourly | Level | Neighbours | Video | Mobile | Rerouting | Paths | Load},
}

// Names are those of Worlds.
func Names() (list []string) {
	for _, w := range Worlds {
		list = append(list, w.Name)
	}
	return list
}

// Names are the nuisances of a world.
func (w World) Names() (list []string) {
	for _, n := range Worlds {
		if n.Name != "all" && w&n.World != 0 {
			list = append(list, n.Name)
		}
	}
	return list
}

// ParseWorld returns the world of some names. Effects have one source: mild, three or measured.
func ParseWorld(names []string) (w World, err error) {
next:
	for _, name := range names {
		for _, known := range Worlds {
			if name == known.Name {
				w |= known.World
				continue next
			}
		}
		return 0, fmt.Errorf("%q: use %s", name, strings.Join(Names(), ", "))
	}
	if s := w & (Mild | Three | Measured | Lab); s&(s-1) != 0 {
		return 0, fmt.Errorf("%q: use one of mild, three, measured and lab (all has measured)", strings.Join(names, ","))
	}
	return w, nil
}

const (
	lineNets   = 4              // networks of a line, with Neighbours
	pushed     = 2.0            // weight of a treated connection on its line, against 1
	videoRate  = 3e6 / 8        // bytes/s that the application asks for
	secondPath = 4.0            // its rate over that of the first
	mobile     = 0.6            // drift
	reroute    = 0.7            // standard deviation of ln(level) between routes
	routeLife  = 12 * 3600      // s, mean
	mostGain   = 2.302585092994 // ln 10: the largest effect of a kind
	mostConns  = 500            // of a window, so that a Poisson draw does not underflow
)

// change draws what nuisances change of the places.
func (w World) change(seed uint64, list []Place) {
	d := newDraws(seed, changeStream)
	for i := range list {
		p := &list[i]
		u := [5]float64{d.Float64(), d.Float64(), d.Float64(), d.Float64(), d.Float64()}
		if w&Site != 0 {
			p.Line = i / lineNets
		}
		p.Video, p.Second = 0.8*u[0], 0.2+0.6*u[1]
		if w&Mobile != 0 && u[2] < 0.2 {
			p.Drift = mobile
		}
		gains := p.Kind.High > helps
		switch {
		case w&Mild != 0 && gains:
			p.Factor = 1.3 + 0.7*u[3]
		case w&Three != 0 && gains:
			p.Factor = 1.5
		case w&(Measured|Lab) != 0:
			list := measured[p.Kind.Name]
			m := list[int(u[4]*float64(len(list)))]
			p.Factor = m.gain
			if w&Lab != 0 {
				p.follow(m, d)
			}
		}
		if w&Three != 0 {
			p.Conns = 3
		}
	}
}

// follow gives a place the rate and the counters of a path, each off by a quarter.
func (p *Place) follow(m path, d *draws) {
	off := func() float64 { return math.Exp(0.25 * d.normal()) }
	p.BytesPerS, p.MinRTTUs, p.Queue = m.mbit*1e6/8*off(), m.rttMs*1000*off(), m.queue*off()
	p.Retrans, p.Resent = min(m.again/100*off(), 0.5), m.resent/100
}

// gain is ln of the effect at an hour, with the level off by so much.
func (w World) gain(p *Place, wave, off float64) float64 {
	g := math.Log(p.Factor)
	if w&Hourly != 0 {
		g *= 1 + 0.8*wave
	}
	if w&Level != 0 {
		g *= min(max(1-off/0.5, 0), 2)
	}
	return min(max(g, -mostGain), mostGain)
}

// load is the mean number of connections.
func (w World) load(mean, off float64) float64 {
	if w&Load != 0 {
		mean *= math.Exp(-off)
	}
	return min(mean, mostConns)
}

// conn is a connection that would have that ln of rate without treatment. push is what sharing its
// line adds.
func (w World) conn(p *Place, odd *draws, ln, gain float64, treated bool, push float64) Conn {
	if w&Paths != 0 && odd.Float64() < p.Second {
		ln, gain = ln+math.Log(secondPath), 0
	}
	c := Conn{Off: ln, On: ln + gain, Now: ln + push}
	if treated {
		c.Now += gain
	}
	if w&Video != 0 && odd.Float64() < p.Video {
		limit := math.Log(videoRate)
		c = Conn{min(c.Off, limit), min(c.On, limit), min(c.Now, limit)}
	}
	return c
}

// crowding returns what sharing a line adds to ln of the rates of a place. A line's capacity is divided
// by weights, so what treated connections win the others lose: where all are treated, or none, it
// is 0.
func (c *City) crowding(arms []Served) func(place int) float64 {
	if c.world&Neighbours == 0 {
		return func(int) float64 { return 0 }
	}
	treated, all := map[int]float64{}, map[int]float64{}
	for i := range c.Places {
		p := &c.Places[i]
		all[p.Line] += p.Conns
		if arms[i].Arm == record.ArmTreatment {
			treated[p.Line] += p.Conns
		}
	}
	return func(place int) float64 {
		line := c.Places[place].Line
		push := -math.Log1p((pushed - 1) * treated[line] / all[line])
		if arms[place].Arm == record.ArmTreatment {
			push += math.Log(pushed)
		}
		return push
	}
}

// reroute moves some levels.
func (c *City) reroute() {
	if c.world&Rerouting == 0 {
		return
	}
	for i := range c.jump {
		if c.jumps.Float64() < float64(c.window)/routeLife {
			c.jump[i] = reroute * c.jumps.normal()
		}
	}
}
