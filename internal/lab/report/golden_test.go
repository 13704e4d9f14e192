package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// What people read, as a person can check it: a cell that broke a gate among others.
func TestGolden(t *testing.T) {
	f := folder(t, smallText)
	table := func(width int) func(*Folder) ([]byte, error) {
		return func(f *Folder) ([]byte, error) {
			var b strings.Builder
			err := Table(&b, &f.Summary, width)
			return []byte(b.String()), err
		}
	}
	for name, write := range map[string]func(*Folder) ([]byte, error){
		"table.txt": table(0), "table-80.txt": table(80), "report.md": markdown, "summary.csv": summaryCSV,
		"heat.html": func(*Folder) ([]byte, error) {
			var b bytes.Buffer
			err := pageTemplate.ExecuteTemplate(&b, "heat", newView(&folder(t, matrixText).Summary).heat("bbr"))
			return b.Bytes(), err
		},
		"compare.txt": func(*Folder) ([]byte, error) {
			var b strings.Builder
			err := Compare(f, changed(t)).Table(&b, 100)
			return []byte(b.String()), err
		},
	} {
		got, err := write(f)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *rewrite {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s (-rewrite makes the file anew):\n%s\nwant:\n%s", path, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 95.64: "95.6", 9.996: "10.0", 0.09996: "0.100", 1234.5: "1230", 999.6: "1000", 0.0000123456: "0.000012", -4.2: "-4.20", 1: "1.00",
	} {
		if got := number(x); got != want {
			t.Errorf("number(%v) = %q, want %q", x, got, want)
		}
	}
}

// TestForeignText: what a scenario's author wrote makes no element of the page or of the text.
func TestForeignText(t *testing.T) {
	const evil = "<img src=x onerror=alert(1)>\n\n```\n| a |"
	f := folder(t, smallText)
	sc := &f.Summary.Scenario
	sc.Name, sc.About, sc.Notes = evil, evil, evil
	md, err := markdown(f)
	if err != nil || bytes.Contains(md, []byte("<img")) || !bytes.Contains(md, []byte("&lt;img")) {
		t.Errorf("report.md: %v\n%s", err, md)
	}
	var drawn bytes.Buffer
	if err := pageTemplate.Execute(&drawn, page{newView(&f.Summary), f}); err != nil || bytes.Contains(drawn.Bytes(), []byte("<img src=x")) {
		t.Errorf("page: %v", err)
	}
}
