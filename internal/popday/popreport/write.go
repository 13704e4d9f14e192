package popreport

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/congctl/congctl/internal/core/popday"
)

// Files that a report is.
const (
	JSONFile     = "report.json"
	MarkdownFile = "report.md"
	PageFile     = "report.html"
)

// Write writes the report's files into a folder of runs.
func Write(dir string, r *popday.Report) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	page, err := htmlPage(r)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		body []byte
	}{{JSONFile, append(b, '\n')}, {MarkdownFile, markdown(r)}, {PageFile, page}} {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.body, 0o644); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	return nil
}
