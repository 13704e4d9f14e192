package main

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/linux/cubiclt"
)

// tolerantText has a cell for each promise of docs/cubic-lt.md. In the cells "beside" the flow of the arm is one of five.
const tolerantText = `
name: tolerant
about: for tests
arms: [cubic, bbr, cubic_lt]
matrix:
  case:
    clean: {}
    deep: {path: {buffer: 8bdp}}
    lossy: {path: {loss: 2%, loss_at: before}}
    very-lossy: {path: {rate: 20mbit, rtt: 100ms, loss: 4%, loss_at: before}}
    policed: {path: {bottleneck: policer, burst: 64KiB}}
    beside: {flows: [{name: main, duration: 40s}, {name: rival, cong: cubic, count: 4, start: 100ms, stagger: 200ms, duration: 40s}]}
    application: {flows: [{app_rate: 2mbit, duration: 20s}]}
path: {rate: 10mbit, rtt: 40ms, buffer: 1bdp}
flows:
  - {duration: 20s}
`

// TestLabCubicLT: where nothing is lost but by a full queue, cubic_lt is CUBIC: alone to the byte, beside others but for what the
// microseconds of the guest's own program decide about whose packet a full queue drops; where packets are lost for no queue it carries
// what BBR does, nearly, and sends again what the path loses.
func TestLabCubicLT(t *testing.T) {
	needProgram(t)
	of := tolerant(t, "--world", worldUML).figures
	for group, c := range map[string]struct{ goodput, resent float64 }{"clean": {1e-6, 0}, "deep": {1e-6, 0}, "application": {1e-6, 0}, "beside": {0.01, 0.002}} {
		g, r := of(group, cubiclt.Name)
		if wantG, wantR := of(group, "cubic"); math.Abs(g/wantG-1) > c.goodput || math.Abs(r-wantR) > c.resent {
			t.Errorf("%s: %v bit/s, %v sent again, CUBIC %v, %v", group, g, r, wantG, wantR)
		}
	}
	for group, c := range map[string]struct{ least, lost float64 }{"lossy": {0.8, 0.02}, "very-lossy": {0.7, 0.04}} {
		g, r := of(group, cubiclt.Name)
		if bbr, _ := of(group, "bbr"); g < c.least*bbr || r > c.lost+0.005 {
			t.Errorf("%s: %.0f bit/s, BBR %.0f; %.4f sent again", group, g, bbr, r)
		}
		if cubic, _ := of(group, "cubic"); g < 3*cubic {
			t.Errorf("%s: %.0f bit/s, CUBIC %.0f", group, g, cubic)
		}
	}
	g, r := of("policed", cubiclt.Name)
	if cubic, resent := of("policed", "cubic"); g < 0.9*cubic || r > resent+0.01 {
		t.Errorf("policed: %.0f bit/s, %.4f sent again, CUBIC %.0f, %.4f", g, r, cubic, resent)
	}
}

// TestLabCubicLTBothForms: as a struct_ops program on a stock kernel cubic_lt does what it does as a part of the lab's own, relative
// to that kernel's CUBIC, within what the two worlds differ by anyway.
func TestLabCubicLTBothForms(t *testing.T) {
	needProgram(t)
	dir := os.Getenv("CONGCTL_STRUCT_OPS_KERNEL")
	if dir == "" {
		t.Skip("needs CONGCTL_STRUCT_OPS_KERNEL, a folder of tools/struct-ops-kernel.sh; minimum kernel of the guest 6.4")
	}
	cells := []string{"--cells", "=(clean|lossy)/cubic"}
	images, _ := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
	modules, _ := filepath.Glob(filepath.Join(dir, "lib", "modules", "*"))
	if len(images) != 1 || len(modules) != 1 {
		t.Fatalf("%s: kernels %q, modules %q", dir, images, modules)
	}
	uml := tolerant(t, append(cells, "--world", worldUML)...)
	vm := tolerant(t, append(cells, "--world", worldVM, "--kernel", images[0], "--modules", modules[0])...)
	// In QEMU a program takes time, which moves a packet by microseconds.
	g, r := vm.figures("clean", cubiclt.Name)
	if wantG, wantR := vm.figures("clean", "cubic"); math.Abs(g/wantG-1) > 0.001 || math.Abs(r-wantR) > 0.0005 {
		t.Errorf("vm: clean: %.0f bit/s, %.4f sent again, CUBIC %.0f, %.4f", g, r, wantG, wantR)
	}
	gain := func(in toleration) float64 {
		g, _ := in.figures("lossy", cubiclt.Name)
		cubic, _ := in.figures("lossy", "cubic")
		return g / cubic
	}
	sameWindows(t, uml.windows(t, "lossy"), vm.windows(t, "lossy"))
	if a, b := gain(uml), gain(vm); math.Abs(math.Log(a/b)) > 0.15 {
		t.Errorf("lossy: x %.2f in uml, x %.2f in vm", a, b)
	}
}

// sameWindows: one seed gives both worlds the same losses, as long as the same packets come. Through the first of them, to where the
// worlds' microseconds part CUBIC, too, the windows are the same; later they are in the mean.
func sameWindows(t *testing.T, uml, vm []float64) {
	t.Helper()
	const first = 8 // samples of 50 ms: slow start, its end, and the first losses
	mean := func(list []float64) (m float64) {
		for _, w := range list {
			m += w / float64(len(list))
		}
		return m
	}
	if min(len(uml), len(vm)) < 10*first || math.Abs(math.Log(mean(uml)/mean(vm))) > 0.1 {
		t.Fatalf("%d windows, mean %.1f packets in uml; %d, %.1f in vm", len(uml), mean(uml), len(vm), mean(vm))
	}
	for i := range first {
		if math.Abs(uml[i]-vm[i]) > 2 {
			t.Errorf("windows %v in uml, %v in vm", uml[:first], vm[:first])
			break
		}
	}
}

// toleration is what a run of tolerantText left.
type toleration struct {
	rows    map[string]outcome.Row
	samples string // lines of JSON, compressed
}

// tolerant runs cells of tolerantText.
func tolerant(t *testing.T, args ...string) toleration {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tolerant.yml")
	check(t, os.WriteFile(file, []byte(tolerantText), 0o600))
	files := labRunInto(t, file, args...)
	in := toleration{map[string]outcome.Row{}, files["samples.jsonl.gz"]}
	for _, r := range summaryOf(t, []byte(files["summary.json"])).Rows {
		if r.Goodput == nil || r.Retrans == nil {
			t.Fatalf("%s: %v", r.Cell, r.Reasons)
		}
		in.rows[r.Group[len("case="):]+" "+r.Arm] = r
	}
	return in
}

// figures are goodput, bit/s, and the share sent again of one cell.
func (in toleration) figures(group, arm string) (goodput, resent float64) {
	r := in.rows[group+" "+arm]
	return r.Goodput.Median, r.Retrans.Median
}

// windows are the samples of cubic_lt's cwnd in one cell.
func (in toleration) windows(t *testing.T, group string) (list []float64) {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(in.samples))
	check(t, err)
	for d := json.NewDecoder(z); d.More(); {
		var s struct {
			Cell string  `json:"cell"`
			Cwnd float64 `json:"cwnd"`
		}
		check(t, d.Decode(&s))
		if s.Cell == "case="+group+"/"+cubiclt.Name {
			list = append(list, s.Cwnd)
		}
	}
	return list
}
