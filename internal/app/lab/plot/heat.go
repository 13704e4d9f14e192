package plot

// Heat is a matrix of values, each as a coloured cell with its text.
type Heat struct {
	Title    string
	Width    float64
	XLabel   string
	YLabel   string
	Columns  []string
	Rows     []string
	Cells    [][]HeatCell // [row][column]
	Keys     []HeatKey    // what the steps mean, lowest first
	Vertical float64      // height of a row, pixels; 0: 34
}

// HeatCell is one value. Step picks its colour: -4 to 4, 0 is the neutral one.
type HeatCell struct {
	Text  string
	Title string
	Step  int
	None  bool // no value: hatched
}

// HeatKey is an entry of the colour key.
type HeatKey struct {
	Step int
	Text string
}

// SVG draws it.
func (h *Heat) SVG() string {
	row := h.Vertical
	if row == 0 {
		row = 34
	}
	c := &canvas{top: 30, height: row * float64(len(h.Rows))}
	for _, r := range h.Rows {
		c.left = max(c.left, textWidth(r)+12)
	}
	if h.YLabel != "" {
		c.left += leftMargin
	}
	c.width = h.Width - c.left - rightMargin
	c.begin(h.Title, "plot heat", h.Width, c.top+c.height+2*charLine+6)
	h.key(c)
	column := c.width / float64(max(1, len(h.Columns)))
	for i, r := range h.Rows {
		y := c.top + row*float64(i)
		if r != "" {
			c.text(r, "tick end", c.left-8, y+row/2+4)
		}
		for j, cell := range h.Cells[i] {
			cell.draw(c, c.left+column*float64(j), y, column, row)
		}
	}
	for j, s := range h.Columns {
		c.text(s, "tick", c.left+column*(float64(j)+0.5), c.top+c.height+15)
	}
	c.labels(h.XLabel, h.YLabel)
	c.WriteString("</svg>\n")
	return c.String()
}

func (h *Heat) key(c *canvas) {
	x := c.left
	for _, k := range h.Keys {
		c.element("rect", "", "class", step(k.Step), "x", px(x), "y", "5", "width", "14", "height", "14")
		x += 15
		if k.Text != "" {
			c.text(k.Text, "legend", x+4, 16)
			x += textWidth(k.Text) + 20
		}
	}
}

func (cell HeatCell) draw(c *canvas, x, y, w, h float64) {
	class := step(cell.Step)
	if cell.None {
		class = "none"
	}
	c.element("rect", cell.Title, "class", "mark cell "+class, "x", px(x+1), "y", px(y+1), "width", px(w-2), "height", px(h-2))
	c.text(cell.Text, "value "+class, x+w/2, y+h/2+4)
}

func step(n int) string {
	return []string{"l4", "l3", "l2", "l1", "h0", "h1", "h2", "h3", "h4"}[max(0, min(8, n+4))]
}
