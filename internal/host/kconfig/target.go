package kconfig

import (
	"fmt"
	"slices"
	"strings"
)

// Document is a fragment with what to do with it.
type Document struct {
	Target   string   `json:"target"`
	Features []string `json:"features"`
	Builtin  bool     `json:"builtin"`
	Steps    []Step   `json:"steps"`
	Files    []File   `json:"files"` // the first one is the fragment
}

// Step is one thing to do, with the commands for it.
type Step struct {
	What string   `json:"what"`
	Run  []string `json:"run"`
}

// File is a text and its place below the folder of all.
type File struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// target is a way to build a kernel.
type target struct {
	name    string
	builtin bool // unless asked otherwise
	steps   func(d *Document, list []Feature) []Step
	files   func(fragment string) []File
}

var targets = []target{
	{"generic", false, genericSteps, oneFile},
	{"debian", false, debianSteps, oneFile},
	{"amazon-linux", false, amazonSteps, oneFile},
	// An image has just the modules that its recipe names, so a module would often be built
	// and stay behind.
	{"yocto", true, yoctoSteps, yoctoFiles},
}

// TargetNames are all ways to build a kernel.
func TargetNames() (names []string) {
	for _, t := range targets {
		names = append(names, t.name)
	}
	return names
}

// Write makes the document for one target. builtin nil: as is usual there.
func Write(name string, list []Feature, builtin *bool) (*Document, error) {
	i := slices.IndexFunc(targets, func(t target) bool { return t.name == name })
	if i < 0 {
		return nil, fmt.Errorf("target %q: use %s", name, strings.Join(TargetNames(), ", "))
	}
	t := targets[i]
	d := &Document{Target: name, Features: names(list), Builtin: t.builtin}
	if builtin != nil {
		d.Builtin = *builtin
	}
	if !d.Builtin && slices.Contains(d.Features, defaultBBR) {
		return nil, fmt.Errorf("feature %s: a module cannot be the kernel's default: ask for it built in", defaultBBR)
	}
	d.Files = t.files(Fragment(list, d.Builtin))
	d.Steps = t.steps(d, list)
	return d, nil
}

const fragmentFile = "congctl.cfg"

func oneFile(fragment string) []File { return []File{{fragmentFile, fragment}} }

// Text is the steps as comments and then the files. Of a document with one file it is
// itself a fragment that can be merged.
func (d *Document) Text() string {
	var b strings.Builder
	for i, s := range d.Steps {
		fmt.Fprintf(&b, "# %d. %s\n", i+1, strings.ReplaceAll(s.What, "\n", "\n#    "))
		for _, r := range s.Run {
			fmt.Fprintf(&b, "#      %s\n", r)
		}
	}
	for _, f := range d.Files {
		b.WriteString("\n")
		if len(d.Files) > 1 {
			fmt.Fprintf(&b, "# ---- %s\n", f.Path)
		}
		b.WriteString(f.Text)
	}
	return b.String()
}
