package report

import (
	"os"
	"testing"
)

func TestWriteOut(t *testing.T) {
	f := folder(t, sweepText)
	dir := or(os.Getenv("OUT"), t.TempDir())
	for i := range f.Results {
		r, _ := f.Load(f.Results[i].Cell, f.Results[i].Seed)
		if err := WriteRun(dir, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(dir, f.Manifest, f.Summary, f.Results, f.Load); err != nil {
		t.Fatal(err)
	}
}
