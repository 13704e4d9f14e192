package popreport

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/congctl/congctl/internal/lab/report"
	"github.com/congctl/congctl/internal/popday"
)

// The files of a report.
const (
	JSONFile     = "report.json"
	MarkdownFile = "report.md"
	PageFile     = "report.html"
	DrawingFile  = "report.svg"
)

// Write writes the report's files into a folder of runs, which may be a stranger's: a link in it is replaced.
func Write(dir string, r *popday.Report) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	page, err := htmlPage(r)
	if err != nil {
		return err
	}
	text, err := markdown(r)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		body []byte
	}{{JSONFile, append(b, '\n')}, {MarkdownFile, text}, {PageFile, page}, {DrawingFile, Drawing(r)}} {
		if f.body == nil { // nothing to draw
			continue
		}
		if err := report.Replace(filepath.Join(dir, f.name), f.body); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	return nil
}
