package plot

import (
	"math"
	"slices"
	"strings"
)

// Mark is something drawn between the axes, in their units.
type Mark interface{ draw(c *canvas) }

// Point is a place between the axes.
type Point struct{ X, Y float64 }

// Line joins points; a NaN is a gap. Step holds each value until the next one.
type Line struct {
	Points []Point
	Class  string
	Title  string
	Step   bool
}

func (l Line) draw(c *canvas) {
	var d strings.Builder
	pen := byte('M')
	for i, p := range l.Points {
		if math.IsNaN(p.Y) {
			pen = 'M'
			continue
		}
		if l.Step && pen == 'L' {
			d.WriteString("H" + c.px(p.X))
			if p.Y == l.Points[i-1].Y {
				continue
			}
			d.WriteString("V" + c.py(p.Y))
			continue
		}
		d.WriteByte(pen)
		d.WriteString(c.px(p.X) + " " + c.py(p.Y))
		pen = 'L'
	}
	c.element("path", l.Title, "class", "mark line "+l.Class, "d", d.String())
}

// Box is a band: a rectangle between two values of each axis, X0 and X1 not closer than
// they can be seen.
type Box struct {
	X0, X1, Y0, Y1 float64
	Class, Title   string // Class "band c0", "bound"
}

func (b Box) draw(c *canvas) {
	x, y := min(c.x(b.X0), c.x(b.X1)), min(c.y(b.Y0), c.y(b.Y1))
	w, h := math.Abs(c.x(b.X1)-c.x(b.X0)), math.Abs(c.y(b.Y1)-c.y(b.Y0))
	c.element("rect", b.Title, "class", "mark "+b.Class, "x", px(x), "y", px(y), "width", px(max(w, 1.5)), "height", px(h))
}

// Whisker is an interval along X.
type Whisker struct {
	Low, High, Y float64
	Class        string
}

func (w Whisker) draw(c *canvas) {
	y, end := c.y(w.Y), px(c.y(w.Y)-3.5)
	d := "M" + c.px(w.Low) + " " + end + "v7M" + c.px(w.Low) + " " + px(y) + "H" + c.px(w.High) + "m0-3.5v7"
	c.element("path", "", "class", "mark whisker "+w.Class, "d", d)
}

// Dot is a value. Its shape repeats the colour's meaning: 0 circle, 1 square, 2 triangle,
// 3 diamond, and again.
type Dot struct {
	X, Y         float64
	Shape        int
	Class, Title string
}

var shapes = []string{
	"m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
	"m-4-4h8v8h-8z",
	"m0-5l5 8.5h-10z",
	"m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
}

func (d Dot) draw(c *canvas) {
	c.element("path", d.Title, "class", "mark dot "+d.Class, "d", "M"+c.px(d.X)+" "+c.py(d.Y)+shapes[d.Shape%len(shapes)])
}

// Note is text beside X0 to X1: right of it if there is room, else left, else over it.
type Note struct {
	X0, X1, Y float64
	Text      string
	Class     string
}

// noteGap is between a mark's end and its text, pixels: past half a dot.
const noteGap = 8

func (n Note) draw(c *canvas) {
	width, right := textWidth(n.Text), c.left+c.width+rightMargin
	x, side := c.x(n.X1)+noteGap, "note start "
	if x+width > right {
		x, side = c.x(n.X0)-noteGap, "note end "
		if x-width < c.left {
			x = right
		}
	}
	c.text(n.Text, side+n.Class, x, c.y(n.Y)+4)
}

// CDF returns the share of values that are at most x, as points for a step line. It
// returns at most n: beyond that each n-th of the sorted values stands for those before
// it.
func CDF(values []float64, n int) []Point {
	x := slices.Sorted(slices.Values(values))
	if len(x) == 0 {
		return nil
	}
	n = min(n, len(x))
	out := []Point{{x[0], 0}}
	for i := 1; i <= n; i++ {
		k := i * len(x) / n
		out = append(out, Point{x[k-1], float64(k) / float64(len(x))})
	}
	return out
}

// Thin keeps the lowest and the highest point of each of n slices of X, in their order:
// unlike a mean it hides no spike, unlike each n-th point it misses none.
func Thin(points []Point, n int) []Point {
	if len(points) <= 2*n {
		return points
	}
	lo, hi := points[0].X, points[len(points)-1].X
	var out []Point
	for i := 0; i < len(points); {
		slice := int((points[i].X - lo) / (hi - lo) * float64(n))
		low, high := i, i
		for ; i < len(points) && int((points[i].X-lo)/(hi-lo)*float64(n)) == slice; i++ {
			if points[i].Y < points[low].Y {
				low = i
			}
			if points[i].Y > points[high].Y {
				high = i
			}
		}
		out = append(out, points[min(low, high)])
		if low != high {
			out = append(out, points[max(low, high)])
		}
	}
	return out
}
