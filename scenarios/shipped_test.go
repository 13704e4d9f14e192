package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/lab/scenario"
)

const (
	// maxPackets of one run: about seven seconds of one CPU.
	maxPackets = 60_000
	// What the virtual machine did when these files were written: it boots in 3 to 4 s,
	// carries 6,000 to 12,000 packets in a real second, and two run side by side.
	bootS, packetsPerS, machines = 3.5, 9_000, 2
	// quickS is what quick may take, in seconds.
	quickS = 60
)

// load is what a scenario asks of a machine, each cell with its least number of seeds.
type load struct {
	cells, runs   int
	packets, most uint64
	virtualS      float64
}

func (l load) seconds() float64 {
	return (float64(l.runs)*bootS + float64(l.packets)/packetsPerS) / machines
}

func read(t *testing.T, name string) (*scenario.Scenario, load) {
	t.Helper()
	text, ok := Cells.Text(name)
	if !ok {
		t.Fatalf("no file of the name %s", name)
	}
	s, err := scenario.Parse(name+".yml", text)
	if err != nil {
		t.Fatal(err)
	}
	l := load{cells: len(s.Cells)}
	for i := range s.Cells {
		cost, n := s.Cells[i].Cost(), s.Cells[i].Seeds.Count
		l.runs += n
		l.packets += uint64(n) * cost.Packets
		l.most = max(l.most, cost.Packets)
		l.virtualS += float64(n) * float64(cost.VirtualUs) / 1e6
	}
	return s, l
}

// TestShipped: every file expands, to so many cells, and takes about so long.
func TestShipped(t *testing.T) {
	datadriven.RunTest(t, "testdata/shipped", func(t *testing.T, _ *datadriven.TestData) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%-24s %5s %5s %10s %8s %10s %7s\n", "", "cells", "runs", "packets", "largest", "virtual s", "min")
		for _, name := range Cells.Names() {
			_, l := read(t, name)
			fmt.Fprintf(&b, "%-24s %5d %5d %10d %8d %10.0f %7.1f\n", name, l.cells, l.runs, l.packets, l.most, l.virtualS, l.seconds()/60)
		}
		return b.String()
	})
}

func TestShippedAreWhatTheySay(t *testing.T) {
	tables := map[string]bool{"": true, "loss-sweep.csv": true, "rtt-sweep.csv": true, "iot-uplink.csv": true, "tbf-shaping.csv": true}
	for _, name := range Cells.Names() {
		s, l := read(t, name)
		switch {
		case s.Name != name:
			t.Errorf("%s calls itself %s", name, s.Name)
		case l.most > maxPackets:
			t.Errorf("%s: a run of %d packets", name, l.most)
		case !strings.Contains(strings.ToLower(s.Notes), "packets"):
			t.Errorf("%s: the notes tell no number of packets", name)
		case !tables[s.Published]:
			t.Errorf("%s: no published table %s", name, s.Published)
		case len(s.About) > 100:
			t.Errorf("%s: about has %d letters, a list has room for 100", name, len(s.About))
		}
	}
	if _, l := read(t, "quick"); l.cells > 9 || l.seconds() > quickS {
		t.Errorf("quick has %d cells and takes %.0f s", l.cells, l.seconds())
	}
}

func TestNoSuchFile(t *testing.T) {
	if text, ok := Cells.Text("slow"); ok {
		t.Errorf("slow is %d bytes", len(text))
	}
}

// TestShelves: a file is on one shelf only.
func TestShelves(t *testing.T) {
	if len(Cells.Names()) < 10 || !slices.Contains(Days.Names(), "demo") {
		t.Errorf("cells %v, days %v", Cells.Names(), Days.Names())
	}
	for shelf, name := range map[Shelf]string{Cells: "demo", Days: "quick"} {
		if _, ok := shelf.Text(name); ok {
			t.Errorf("%s is on shelf %v", name, shelf)
		}
	}
}
