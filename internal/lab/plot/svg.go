package plot

import (
	_ "embed" // the style sheet
	"math"
	"strconv"
	"strings"
)

// canvas is SVG text in the making, with the axes' box.
type canvas struct {
	strings.Builder
	left, top, width, height float64 // of the box, pixels
	xs, ys                   Scale
}

func (c *canvas) x(v float64) float64 { return c.left + c.width*c.xs.At(v) }
func (c *canvas) y(v float64) float64 { return c.top + c.height*(1-c.ys.At(v)) }

func (c *canvas) px(v float64) string { return px(c.x(v)) }
func (c *canvas) py(v float64) string { return px(c.y(v)) }

// px is a coordinate, to a tenth of a pixel.
func px(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64)
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// element writes <name key="value" ...>, with a title that a browser shows under the mouse.
func (c *canvas) element(name, title string, attributes ...string) {
	c.tag(name, attributes)
	if title == "" {
		c.WriteString("/>\n")
		return
	}
	c.WriteString("><title>" + escaper.Replace(title) + "</title></" + name + ">\n")
}

func (c *canvas) open(name string, attributes ...string) {
	c.tag(name, attributes)
	c.WriteString(">")
}

func (c *canvas) tag(name string, attributes []string) {
	c.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		c.WriteString(" " + attributes[i] + `="` + escaper.Replace(attributes[i+1]) + `"`)
	}
}

func (c *canvas) text(s, class string, x, y float64) {
	c.open("text", "class", class, "x", px(x), "y", px(y))
	c.WriteString(escaper.Replace(s) + "</text>\n")
}

// begin opens the drawing, for use in a page: a separate file would need a name space. A
// screen reader reads its title.
func (c *canvas) begin(title, class string, width, height float64) {
	w, h := px(width), px(height)
	c.open("svg", "class", class, "role", "img", "aria-label", title,
		"viewBox", "0 0 "+w+" "+h, "width", w, "height", h)
	c.WriteString("\n")
}

// textWidth is about what s takes at 12 pixels in DejaVu Sans, the widest of the fonts that
// a browser may choose; there is no font to measure here.
func textWidth(s string) float64 {
	var w float64
	for _, r := range s {
		switch {
		case strings.ContainsRune("ijlt.,:;|!' f()", r):
			w += 4.6
		case r >= 'A' && r <= 'Z' || strings.ContainsRune("mw%×", r):
			w += 9.4
		default:
			w += 7.4
		}
	}
	return w
}

// Style has the rules and colours of all plots, for a page to include once.
//
//go:embed style.css
var Style string
