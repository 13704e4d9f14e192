package popreport

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"strings"

	"github.com/congctl/congctl/internal/lab/plot"
	"github.com/congctl/congctl/internal/lab/report"
	"github.com/congctl/congctl/internal/popday"
)

// svg is a drawing made by package plot, which escapes what it draws.
type svg = template.HTML

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"mark": mark, "cell": cellOf}).Parse(pageText))

type page struct {
	*popday.Report
	Style    template.CSS
	Headline string
	First    []figure
	Table    table
	Invalid  []popday.RunLine
	Parts    []part
}

// htmlPage returns the report for a browser: one file, no script, nothing loaded.
func htmlPage(r *popday.Report) ([]byte, error) {
	all, err := parts(r)
	if err != nil {
		return nil, err
	}
	p := page{Report: r, Style: template.CSS(plot.Style + report.PageStyle + pageStyle), Headline: headline(r), First: figures(figureOf(r, "first", "")), Table: firstTable(r), Parts: all}
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

// mark returns the class of an answer.
func mark(text string) string {
	return map[string]string{string(popday.Yes): "yes", string(popday.No): "no"}[text]
}

// cell keeps its interval apart, so that the eye finds the values.
type cell struct{ Text, Interval string }

func cellOf(text string) cell {
	if value, interval, found := strings.Cut(text, " ["); found && strings.HasSuffix(text, "]") && !strings.Contains(interval, " [") {
		return cell{value, "[" + interval}
	}
	return cell{Text: text}
}
