package effect

import (
	"math"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// The hold-out: prefixes that are never treated against those that may be, both slow enough to
// be chosen. Pairs compare blocks of minutes, so they cannot see what a treatment does over weeks, or
// to the hours around it; the hold-out does, and needs many prefixes, since they differ by more
// than any effect. Unit: the prefix. Welch's t (Biometrika 34, 1947):
//
//	m1 - m2 -+ t(2.5 %, df) sqrt(s1^2/n1 + s2^2/n2)

// fewestHeld prefixes in the slow group: with the city's spread of 0.4 between prefixes, 20
// determine their mean to x 1.2.
const fewestHeld = 20

// Contrast is programme against hold-out, as a ratio of geometric means.
type Contrast struct {
	Held, Open       int // prefixes
	Ratio, Low, High float64
	Known            bool   // false: no estimate, see Why
	Why              string // what is missing
}

// HoldOut compares prefixes by their mean ln rate: held are those of the slow group in the
// hold-out, open the others of that group, whatever their treatment and arm.
func HoldOut(held, open []float64) Contrast {
	c := Contrast{Held: len(held), Open: len(open)}
	switch {
	case len(held) < fewestHeld:
		c.Why = "fewer than 20 prefixes of the slow group are held out"
	case len(open) < fewestHeld:
		c.Why = "fewer than 20 prefixes of the slow group are not held out"
	default:
		c.Known = true
		c.Ratio, c.Low, c.High = welch(open, held)
	}
	return c
}

func welch(x, y []float64) (ratio, low, high float64) {
	mx, sx := meanAndError(x)
	my, sy := meanAndError(y)
	vx, vy := sx*sx, sy*sy
	free := (vx + vy) * (vx + vy) / (vx*vx/float64(len(x)-1) + vy*vy/float64(len(y)-1))
	half := -stat.StudentQuantile(0.025, free) * math.Sqrt(vx+vy)
	return math.Exp(mx - my), math.Exp(mx - my - half), math.Exp(mx - my + half)
}
