package plot

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
