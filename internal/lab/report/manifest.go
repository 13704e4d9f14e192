package report

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/linux/plainfile"
)

// Format is the version of the folder; docs/format/results.md describes it.
const Format = 1

// Manifest is everything needed to run a folder's scenario again and get the same bytes.
// It has no wall times and no paths of a machine.
type Manifest struct {
	Format   int            `json:"format"`
	Scenario Text           `json:"scenario"`
	Seeds    scenario.Seeds `json:"seeds"` // as run: the file's, changed by flags
	Cells    []string       `json:"cells"` // chosen ones, empty: all
	World    string         `json:"world"` // vm, netns
	Kernel   Kernel         `json:"kernel"`
	HZ       int            `json:"hz"`
	QEMU     *QEMU          `json:"qemu,omitempty"` // of world vm
	Congctl  Binary         `json:"congctl"`
}

// Text is a scenario file, whole.
type Text struct {
	Name   string `json:"name"` // file name without its folder
	SHA256 string `json:"sha256"`
	Text   string `json:"text"`
}

// NewText keeps the scenario file that was read from path.
func NewText(path string, text []byte) Text {
	return Text{Name: filepath.Base(path), SHA256: hash(text), Text: string(text)}
}

// Kernel is the kernel under test.
type Kernel struct {
	Release string `json:"release"` // uname -r
	SHA256  string `json:"sha256"`  // of the image; "" where the host's own kernel ran
	Source  string `json:"source"`  // package or origin in words
}

// QEMU is the machine emulator. Files among the options are named without their folder.
type QEMU struct {
	Version string   `json:"version"`
	Options []string `json:"options"`
}

// Binary is the congctl that ran, on the host and as the guest's /init.
type Binary struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// ThisBinary describes the running program, which is also the guest's /init.
func ThisBinary(version string) (b Binary, err error) {
	b.Version = version
	path, err := os.Executable()
	if err != nil {
		return b, fmt.Errorf("find own program: %w", err)
	}
	b.SHA256, err = HashFile(path)
	return b, err
}

// HashFile returns a file's SHA-256.
func HashFile(path string) (string, error) {
	b, err := plainfile.Read(path, maxFile)
	if err != nil {
		return "", fmt.Errorf("hash file: %w", err)
	}
	return hash(b), nil
}

func hash(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// Check returns what makes the manifest useless for another machine.
func (m *Manifest) Check() error {
	switch {
	case m.Format != Format:
		return fmt.Errorf("format %d, this congctl reads %d: use the version of congctl that wrote it", m.Format, Format)
	case m.Scenario.SHA256 != hash([]byte(m.Scenario.Text)):
		return fmt.Errorf("scenario.sha256 %q is not that of scenario.text: one of them was edited", m.Scenario.SHA256)
	case m.Scenario.Name != filepath.Base(m.Scenario.Name):
		return fmt.Errorf("scenario.name %q has a folder: keep the file's name only", m.Scenario.Name)
	case m.QEMU != nil:
		for _, o := range m.QEMU.Options {
			if strings.HasPrefix(o, "/") {
				return fmt.Errorf("qemu.options has %q, a path of this machine: keep the file's name only", o)
			}
		}
	}
	return nil
}

// Differences names what differs in o, for people; none: both give the same bytes.
func (m *Manifest) Differences(o *Manifest) []string {
	var out []string
	differ := func(what string, a, b any) {
		if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
			out = append(out, fmt.Sprintf("%s: %s, %s", what, cmp.Or(x, "none"), cmp.Or(y, "none")))
		}
	}
	differ("scenario", m.Scenario.Name+" "+short(m.Scenario.SHA256), o.Scenario.Name+" "+short(o.Scenario.SHA256))
	differ("seeds", m.Seeds, o.Seeds)
	differ("cells", m.Cells, o.Cells)
	differ("world", m.World, o.World)
	differ("kernel", m.Kernel.Release+" "+short(m.Kernel.SHA256), o.Kernel.Release+" "+short(o.Kernel.SHA256))
	differ("HZ", m.HZ, o.HZ)
	differ("congctl", m.Congctl.Version+" "+short(m.Congctl.SHA256), o.Congctl.Version+" "+short(o.Congctl.SHA256))
	differ("QEMU", m.qemu(), o.qemu())
	return out
}

func (m *Manifest) qemu() string {
	if m.QEMU == nil {
		return ""
	}
	return m.QEMU.Version + " " + strings.Join(m.QEMU.Options, " ")
}

// short is as much of a hash as people compare by eye.
func short(sum string) string {
	return sum[:min(12, len(sum))]
}

// again returns the commands that run a folder's scenario again and compare.
func (m *Manifest) Again() []string {
	run := fmt.Sprintf("congctl lab run scenario.yml --world %s --seed %d", m.World, m.Seeds.First)
	if m.Seeds.Max == 0 { // the command line set exactly that many
		run += fmt.Sprintf(" --seeds %d", m.Seeds.Count)
	}
	if len(m.Cells) > 0 {
		var names []string
		for _, c := range m.Cells {
			names = append(names, regexp.QuoteMeta(c))
		}
		run += " --cells '^(" + strings.Join(names, "|") + ")$'"
	}
	return []string{run + " --out again", "congctl lab compare . again"}
}

// fact is one requirement for getting the same bytes.
type fact struct{ Name, Value string }

func (m *Manifest) Facts() []fact {
	kernel := []string{m.Kernel.Release, m.Kernel.Source}
	if m.Kernel.SHA256 != "" {
		kernel = append(kernel, "SHA-256 "+m.Kernel.SHA256)
	}
	facts := []fact{
		{"congctl", m.Congctl.Version + ", SHA-256 " + m.Congctl.SHA256},
		{"scenario", m.Scenario.Name + ", SHA-256 " + m.Scenario.SHA256},
		{"seeds", seedWords(m)},
		{"world", m.World},
		{"kernel", strings.Join(slices.DeleteFunc(kernel, func(s string) bool { return s == "" }), ", ")},
		{"HZ", fmt.Sprint(m.HZ)},
	}
	if len(m.Cells) > 0 {
		facts = append(facts, fact{"cells", strings.Join(m.Cells, ", ")})
	}
	if m.QEMU != nil {
		facts = append(facts, fact{"QEMU", m.QEMU.Version}, fact{"its options", strings.Join(m.QEMU.Options, " ")})
	}
	return facts
}

func seedWords(m *Manifest) string {
	s := fmt.Sprintf("from %d, %d a cell", m.Seeds.First, m.Seeds.Count)
	if m.Seeds.Max > m.Seeds.Count && m.Seeds.HalfWidth > 0 {
		s += fmt.Sprintf(", then more, up to %d, until the interval's half-width is below %s %% of the median", m.Seeds.Max, number(m.Seeds.HalfWidth/cent))
	}
	return s
}
