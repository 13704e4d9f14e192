package limit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/shape"
)

// A host is files, each line PATH: TEXT with \n for a newline; the answer is who runs the link eth0, whose index is 2, and
// what keeps its limit.
func TestWhoRunsTheHost(t *testing.T) {
	datadriven.RunTest(t, "testdata/boot", func(t *testing.T, d *datadriven.TestData) string {
		root := t.TempDir()
		for line := range strings.SplitSeq(d.Input, "\n") {
			name, text, _ := strings.Cut(line, ": ")
			p := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(strings.ReplaceAll(text, `\n`, "\n")), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		link := shape.Link{Name: "eth0", Index: 2, MTU: 1500, HeaderBytes: 14, Up: true, Kernel: [2]int{6, 1}, Timer: shape.Timer{HighRes: true}}
		boot, err := readBoot(root, carry.HostDisk{Root: root}, link)
		if err != nil {
			return err.Error() + "\n"
		}
		target, err := shape.For(link, shape.Ask{Rate: 8e6})
		if err != nil {
			t.Fatal(err)
		}
		p, err := shape.Persist("eth0", target, boot, shape.Command("/usr/bin/congctl", "eth0", target))
		if err != nil {
			return err.Error() + "\n"
		}
		var out strings.Builder
		fmt.Fprintln(&out, "kept by", p.Keeper)
		for _, f := range p.Files {
			fmt.Fprintln(&out, f.Path)
		}
		for _, n := range p.Notes {
			fmt.Fprintln(&out, "note:", n)
		}
		return out.String()
	})
}
