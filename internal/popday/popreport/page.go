package popreport

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"strings"

	"github.com/congctl/congctl/internal/app/lab/plot"
	"github.com/congctl/congctl/internal/app/lab/report"
	"github.com/congctl/congctl/internal/core/popday"
)

// svg is a drawing made by package plot, which escapes what it draws.
type svg = template.HTML

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"mark": mark, "cell": cellOf}).Parse(pageText))

// figure is a plot, or several, with words.
type figure struct {
	Title string
	Note  string
	Wide  bool
	SVG   []svg
}

const (
	wide   = 1160 // pixels of a plot across the page
	narrow = 560  // of one of two
)

type page struct {
	*popday.Report
	Style    template.CSS
	Headline []string
	Invalid  []popday.RunLine
	Parts    []part
}

// htmlPage is the report for a browser: one file, no script, nothing loaded.
func htmlPage(r *popday.Report) ([]byte, error) {
	p := page{Report: r, Style: template.CSS(plot.Style + report.PageStyle + pageStyle), Headline: headline(r), Parts: parts(r)}
	for _, l := range r.Runs {
		if !l.Valid {
			p.Invalid = append(p.Invalid, l)
		}
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("fill page: %w", err)
	}
	return b.Bytes(), nil
}

// mark is the class of an answer.
func mark(text string) string {
	return map[string]string{string(popday.Yes): "yes", string(popday.No): "no"}[text]
}

// cell has its interval apart, so that the eye finds the values.
type cell struct{ Text, Interval string }

func cellOf(text string) cell {
	if value, interval, found := strings.Cut(text, " ["); found && strings.HasSuffix(text, "]") && !strings.Contains(interval, " [") {
		return cell{value, "[" + interval}
	}
	return cell{Text: text}
}
