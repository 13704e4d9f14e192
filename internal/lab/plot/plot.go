package plot

// Plot is a pair of axes with marks.
type Plot struct {
	Title  string // for screen readers
	Name   string // drawn above, beside the legend
	Width  float64
	Height float64 // of the box between the axes; ticks, labels and legend come on top
	X, Y   Axis
	Legend []Entry
	Marks  []Mark
}

// Axis is one of the two. Without Ticks the scale chooses them.
type Axis struct {
	Label string // what and in which unit; of X alone
	Scale Scale
	Ticks []Tick
	Lines []float64 // separators instead of a grid at the ticks
}

// Entry is the meaning of a class.
type Entry struct {
	Label string
	Class string
	Shape int // of Dot; -1: a line; -2: a band; -3: a bound
}

const (
	charLine    = 18 // of a line of text, pixels
	rightMargin = 22 // half of the last tick's label
	leastLeft   = 48 // so that plots below each other begin at the same place
)

// Total is the height of the whole drawing, pixels.
func (p *Plot) Total() float64 {
	c, _ := p.frame()
	return c.top + p.Height + p.below()
}

// frame places the box between the axes, and the legend.
func (p *Plot) frame() (c *canvas, legend []placed) {
	c = &canvas{xs: p.X.Scale, ys: p.Y.Scale, height: p.Height, left: leastLeft}
	for _, t := range p.yTicks() {
		c.left = max(c.left, textWidth(t.Label)+10)
	}
	c.width = p.Width - c.left - rightMargin
	legend = layout(p.Legend, c.left, p.nameWidth(), p.Width)
	c.top = 8
	if n := len(legend); n > 0 {
		c.top = legend[n-1].y + 12
	}
	return c, legend
}

func (p *Plot) yTicks() []Tick { return p.Y.ticks(max(3, int(p.Height/20))) }

// SVG draws it.
func (p *Plot) SVG() string {
	c, legend := p.frame()
	c.begin(p.Title, "plot", p.Width, c.top+p.Height+p.below())
	if p.Name != "" {
		c.text(p.Name, "name", c.left, 16)
	}
	for _, e := range legend {
		e.draw(c)
	}
	c.grid(&p.X, &p.Y, p.X.ticks(int(p.Width/80)), p.yTicks())
	for _, m := range p.Marks {
		m.draw(c)
	}
	c.xLabel(p.X.Label)
	c.WriteString("</svg>\n")
	return c.String()
}

// nameWidth returns how much of the first line the name takes.
func (p *Plot) nameWidth() float64 {
	if p.Name == "" {
		return 0
	}
	return textWidth(p.Name)*1.08 + 16 // bold
}

// below is the room for ticks and label.
func (p *Plot) below() float64 {
	if p.X.Label == "" {
		return charLine + 4
	}
	return 2*charLine + 6
}

func (a *Axis) ticks(n int) []Tick {
	if a.Ticks != nil {
		return a.Ticks
	}
	return a.Scale.Ticks(n)
}

// grid draws the lines at the ticks and the ticks' labels.
func (c *canvas) grid(x, y *Axis, xTicks, yTicks []Tick) {
	bottom := c.top + c.height
	vertical, horizontal := places(x, xTicks), places(y, yTicks)
	for _, v := range vertical {
		c.element("path", "", "class", "grid", "d", "M"+c.px(v)+" "+px(c.top)+"V"+px(bottom))
	}
	for _, v := range horizontal {
		c.element("path", "", "class", "grid", "d", "M"+px(c.left)+" "+c.py(v)+"H"+px(c.left+c.width))
	}
	c.element("path", "", "class", "axis", "d", "M"+px(c.left)+" "+px(c.top)+"V"+px(bottom)+"H"+px(c.left+c.width))
	for _, t := range xTicks {
		c.text(t.Label, "tick", c.x(t.At), bottom+15)
	}
	for _, t := range yTicks {
		c.text(t.Label, "tick end", c.left-7, c.y(t.At)+4)
	}
}

func places(a *Axis, ticks []Tick) []float64 {
	if a.Ticks != nil {
		return a.Lines
	}
	var at []float64
	for _, t := range ticks {
		at = append(at, t.At)
	}
	return at
}

func (c *canvas) xLabel(text string) {
	if text != "" {
		c.text(text, "label", c.left+c.width/2, c.top+c.height+2*charLine-2)
	}
}

// placed is a legend's entry with its place.
type placed struct {
	Entry
	x, y float64
}

// layout sets entries one after another from left on, the first line after a name, in
// as many lines as it takes.
func layout(entries []Entry, left, name, width float64) []placed {
	out := make([]placed, 0, len(entries))
	x, y := left+name, 12.0
	for _, e := range entries {
		w := 24 + textWidth(e.Label) + 16
		if x > left && x+w > width {
			x, y = left, y+charLine
		}
		out = append(out, placed{e, x, y})
		x += w
	}
	return out
}

func (e placed) draw(c *canvas) {
	at := "M" + px(e.x+9) + " " + px(e.y)
	switch e.Shape {
	case -1:
		c.element("path", "", "class", "line "+e.Class, "d", at+"m-9 0h18")
	case -2:
		c.element("rect", "", "class", e.Class, "x", px(e.x), "y", px(e.y-5), "width", "18", "height", "10")
	case -3:
		c.element("rect", "", "class", e.Class, "x", px(e.x+8), "y", px(e.y-6), "width", "1.5", "height", "12")
	default:
		c.element("path", "", "class", "dot "+e.Class, "d", at+shapes[e.Shape%len(shapes)])
	}
	c.text(e.Label, "legend", e.x+24, e.y+4)
}
