package scenario

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// FuzzParse: never a panic, exactly one of value and error, and what is read expands
// to cells that pass their own check, each named once, in the same order every time.
func FuzzParse(f *testing.F) {
	shipped, err := filepath.Glob("../../../scenarios/*.yml")
	if err != nil || len(shipped) == 0 {
		f.Fatalf("shipped scenarios: %v, %v", shipped, err)
	}
	for _, name := range shipped {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, name := range []string{"testdata/expand", "testdata/faults"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range bytes.Split(text, []byte("\n----\n")) {
			if i := bytes.Index(part, []byte("name: a\n")); i >= 0 {
				f.Add(part[i:])
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("fuzz.yml", text)
		if (s == nil) == (err == nil) {
			t.Fatalf("scenario %v, error %v", s, err)
		}
		if s != nil {
			checkCells(t, s)
			again, err := Parse("fuzz.yml", text)
			if err != nil || !reflect.DeepEqual(s, again) {
				t.Fatalf("read twice: %v, then %v, %v", s, again, err)
			}
		}
	})
}

type fataler interface{ Fatalf(string, ...any) }

func checkCells(t fataler, s *Scenario) {
	if len(s.Cells) == 0 || len(s.Cells) > maxCells || len(s.Arms) == 0 {
		t.Fatalf("%d cells, %d arms", len(s.Cells), len(s.Arms))
	}
	seen := map[string]bool{}
	for i := range s.Cells {
		c := &s.Cells[i]
		if err := c.faults().Err(); err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		if seen[c.ID] {
			t.Fatalf("two cells %s", c.ID)
		}
		seen[c.ID] = true
		if strings.Count(c.ID, "/") != 1 || c.Group()+"/"+c.Arm.Name != c.ID || c.Group() == "" {
			t.Fatalf("%q has the group %q and the arm %q", c.ID, c.Group(), c.Arm.Name)
		}
		// Arms of a group stand together, in the file's order.
		if first := &s.Cells[i-i%len(s.Arms)]; first.Group() != c.Group() || c.Arm != s.Arms[i%len(s.Arms)] {
			t.Fatalf("%s stands in the group of %s", c.ID, first.ID)
		}
		if cost := c.Cost(); cost.VirtualUs == 0 || cost.VirtualUs > maxTimeUs {
			t.Fatalf("%s costs %v", c.ID, cost)
		}
	}
}
