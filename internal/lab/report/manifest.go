package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/congctl/congctl/internal/core/scenario"
)

// Format is the version of the folder; docs/format/results.md describes it.
const Format = 1

// Manifest is all that it takes to run a folder's scenario again and get the same
// bytes. It has no wall times and no paths of a machine.
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

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Check says what makes the manifest useless for another machine.
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

// Differences names what is not the same in o, for people; none: both give the same bytes.
func (m *Manifest) Differences(o *Manifest) []string {
	var out []string
	differ := func(what string, a, b any) {
		if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
			out = append(out, fmt.Sprintf("%s: %s, %s", what, or(x, "none"), or(y, "none")))
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

func or(s, empty string) string {
	if s == "" {
		return empty
	}
	return s
}
