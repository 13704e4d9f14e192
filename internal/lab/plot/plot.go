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
	Label string // what and in which unit
	Scale Scale
	Ticks []Tick
	Lines []float64 // separators instead of a grid at the ticks
}

// Entry says what a class means.
type Entry struct {
	Label string
	Class string
	Shape int // of Dot; -1: a line; -2: a band; -3: a bound
}

const (
	charLine    = 18 // of a line of text, pixels
	leftMargin  = 16 // for the vertical label
	rightMargin = 22 // half of the last tick's label
	leastLeft   = 48 // so that plots below each other begin at the same place
)

// SVG draws it.
func (p *Plot) SVG() string {
	c := &canvas{xs: p.X.Scale, ys: p.Y.Scale, height: p.Height}
	xTicks, yTicks := p.X.ticks(int(p.Width/80)), p.Y.ticks(max(3, int(p.Height/20)))
	c.left = leastLeft
	for _, t := range yTicks {
		c.left = max(c.left, textWidth(t.Label)+10)
	}
	if p.Y.Label != "" {
		c.left += leftMargin
	}
	c.width = p.Width - c.left - rightMargin
	legend := layout(p.Legend, c.left, p.nameWidth(), p.Width)
	c.top = 8
	if n := len(legend); n > 0 {
		c.top = legend[n-1].y + 12
	}
	c.begin(p.Title, "plot", p.Width, c.top+p.Height+p.below())
	if p.Name != "" {
		c.text(p.Name, "name", c.left, 16)
	}
	for _, e := range legend {
		e.draw(c)
	}
	c.grid(&p.X, &p.Y, xTicks, yTicks)
	for _, m := range p.Marks {
		m.draw(c)
	}
	c.labels(p.X.Label, p.Y.Label)
	c.WriteString("</svg>\n")
	return c.String()
}

// nameWidth is what the name takes of the first line.
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

func (c *canvas) labels(x, y string) {
	if x != "" {
		c.text(x, "label", c.left+c.width/2, c.top+c.height+2*charLine-2)
	}
	if y != "" {
		at := px(c.top + c.height/2)
		c.open("text", "class", "label", "transform", "translate(12 "+at+")rotate(-90)")
		c.WriteString(escaper.Replace(y) + "</text>\n")
	}
}
