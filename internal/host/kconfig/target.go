package kconfig

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Document is a fragment with the steps to use it.
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
	builtin bool     // unless asked otherwise
	files   []string // their places; all but the fragment are in the folder yocto
}

var targets = []target{
	{"generic", false, []string{fragmentFile}},
	{"debian", false, []string{fragmentFile}},
	{"amazon-linux", false, []string{fragmentFile}},
	// An image has only the modules that its recipe names, so a module would often be built
	// and left out. The layer has the fragment, a description that the kernel tools of
	// linux-yocto read, and an append to its recipe.
	{"yocto", true, []string{"recipes-kernel/linux/files/" + fragmentFile, "recipes-kernel/linux/files/congctl.scc",
		"recipes-kernel/linux/linux-yocto_%.bbappend", "conf/layer.conf"}},
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
		return nil, fmt.Errorf("feature %s: a module cannot be the kernel's default: build it in", defaultBBR)
	}
	for _, place := range t.files {
		text := []byte(Fragment(list, d.Builtin))
		var err error
		if path.Base(place) != fragmentFile {
			text, err = texts.ReadFile("yocto/" + path.Base(place))
		}
		if err != nil {
			return nil, fmt.Errorf("write files: %w", err)
		}
		d.Files = append(d.Files, File{place, string(text)})
	}
	var err error
	d.Steps, err = steps(d, list)
	return d, err
}

const fragmentFile = "congctl.cfg"

// Text returns the steps as comments and then the files. For a document with one file it is
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
