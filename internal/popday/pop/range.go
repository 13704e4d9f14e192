package pop

import (
	"cmp"
	"errors"
	"math"
	"strings"

	"github.com/congctl/congctl/internal/strict"
)

// A quantity of a class's path may be a range, of which the seed draws each network's own:
//
//	x = least (most / least)^u,  or most u where least is 0;  u uniform in [0, 1)
//
// so a rate has as many small values as large ones on a scale of ratios, and a loss that may be
// 0 is as often near one end as near the other. Each network has a stream of its own for this,
// and each quantity a draw, range or not: to make a range of one changes no other.

// Drawn reports whether the seed draws the path of each of the class's networks.
func (c *Class) Drawn() bool { return c.Most != Path{} }

// Drawn reports whether it does so for any class.
func (d *Day) Drawn() bool {
	for i := range d.Classes {
		if d.Classes[i].Drawn() {
			return true
		}
	}
	return false
}

// drawn returns one network's path.
func (c *Class) drawn(d *dice) Path {
	p, most := c.Path, &c.Most
	loss, mostLoss := uint64(p.LossPPM), uint64(most.LossPPM)
	for _, q := range []struct {
		at   *uint64
		most uint64
	}{{&p.RateBitPerS, most.RateBitPerS}, {&p.RTTUs, most.RTTUs}, {&p.JitterUs, most.JitterUs}, {&loss, mostLoss}, {&p.LossBurst, most.LossBurst},
		{&p.Buffer.Packets, most.Buffer.Packets}, {&p.Buffer.Us, most.Buffer.Us}, {&p.Buffer.BDPPPM, most.Buffer.BDPPPM}, {&p.BurstBytes, most.BurstBytes}} {
		if u := d.share(); q.most > *q.at {
			*q.at = between(*q.at, q.most, u)
		}
	}
	p.LossPPM = uint32(loss)
	return p
}

func between(least, most uint64, u float64) uint64 {
	if least == 0 {
		return uint64(math.Round(float64(most) * u))
	}
	return uint64(math.Round(float64(least) * math.Pow(float64(most)/float64(least), u)))
}

// ranged returns a key of a class's path that may be a range, as in 3mbit-60mbit.
func ranged[V cmp.Ordered](name string, read func(string) (V, error), at func(*Path) *V) strict.Key[Class] {
	return strict.Key[Class]{Name: name, Set: func(c *Class, s string) error {
		low, high, two, err := ends(s, read)
		switch {
		case err != nil:
			return err
		case two && low >= high:
			return errors.New("not from small to large; write the smaller first, or one of them")
		}
		if *at(&c.Path) = low; two {
			*at(&c.Most) = high
		}
		return nil
	}}
}

func ends[V any](s string, read func(string) (V, error)) (low, high V, two bool, err error) {
	least, most, two := strings.Cut(s, "-")
	if low, err = read(strings.TrimSpace(least)); err == nil && two {
		high, err = read(strings.TrimSpace(most))
	}
	return low, high, two, err
}

// setBuffer is ranged for a queue, whose two ends have one unit.
func setBuffer(c *Class, s string) error {
	low, high, two, err := ends(s, readBuffer)
	if err == nil && two && !low.below(high) {
		err = errors.New("not from small to large in one unit; write it as in 4p-60p, 20ms-300ms or 0.1bdp-4bdp")
	}
	if err != nil {
		return err
	}
	if c.Path.Buffer = low; two {
		c.Most.Buffer = high
	}
	return nil
}

// Upto returns the path with the most of each range.
func (c *Class) Upto() Path {
	p := c.Path
	p.RateBitPerS, p.RTTUs, p.JitterUs = max(p.RateBitPerS, c.Most.RateBitPerS), max(p.RTTUs, c.Most.RTTUs), max(p.JitterUs, c.Most.JitterUs)
	p.LossPPM, p.LossBurst, p.BurstBytes = max(p.LossPPM, c.Most.LossPPM), max(p.LossBurst, c.Most.LossBurst), max(p.BurstBytes, c.Most.BurstBytes)
	if c.Most.Buffer != (Buffer{}) {
		p.Buffer = c.Most.Buffer
	}
	return p
}
