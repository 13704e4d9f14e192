package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/strict"

	"go.yaml.in/yaml/v3"
)

// Parse reads, expands and checks one YAML document. The error names every fault with
// its line; name is the file's, for the error alone.
func Parse(name string, text []byte) (*Scenario, error) {
	r := &reader{}
	s := r.scenario(text)
	if err := r.Faults.Err(); err != nil {
		return nil, fmt.Errorf("read scenario %s:\n%w", name, err)
	}
	return s, nil
}

func (r *reader) scenario(text []byte) *Scenario {
	f := &file{base: newDraft()}
	root := Document(&r.Reader, text)
	if root == nil {
		return nil
	}
	r.Each(root, "", func(key string, k, v *strict.Node) { r.top(f, key, k, v) })
	r.required(f, root)
	if len(r.Faults) > 0 {
		return nil
	}
	return r.expand(f)
}

// file is a document that was read and not yet expanded.
type file struct {
	Scenario
	full   bool
	base   draft
	axes   []axis
	wheres []where
	steps  int           // of all cells' schedules
	wrong  strict.Faults // of cells
}

func newDraft() draft {
	return draft{
		cell: Cell{
			Seeds:  Seeds{First: 1, Count: 1},
			Sender: Sender{Pacing: PacingAuto},
			Path:   Path{MTU: 1500, Bottleneck: "netem"},
		},
		line: map[string]int{}, owner: map[string]string{},
	}
}

// fileKeys are the single values of a file.
var fileKeys = []strict.Key[file]{
	strict.Put("name", ReadWord, func(f *file) *string { return &f.Name }),
	strict.Put("about", readText, func(f *file) *string { return &f.About }),
	strict.Put("notes", readText, func(f *file) *string { return &f.Notes }),
	strict.Put("published", ReadWord, func(f *file) *string { return &f.Published }),
	strict.Put("full", ReadSwitch, func(f *file) *bool { return &f.full }),
}

func readText(s string) (string, error) { return strings.TrimSpace(s), nil }

// topKeys in the order in which a file is best read.
var topKeys = []string{"name", "about", "notes", "published", "arms", "full", "matrix", "where", "path", "sender",
	"flows", "sysctls", "schedule", "seeds", "measure", "exempt"}

func (r *reader) top(f *file, key string, k, v *strict.Node) {
	if _, single := strict.Find(fileKeys, key); single {
		strict.Give(&r.Reader, f, fileKeys, key, key, k, v)
		return
	}
	switch key {
	case "arms":
		r.arms(f, v)
	case "matrix":
		r.matrix(f, v)
	case "where":
		r.wheres(f, v)
	case "exempt":
		r.exempt(f, v)
	default:
		r.section(&f.base, key, k, v, topKeys)
	}
}

func (r *reader) required(f *file, root *strict.Node) {
	for _, need := range []struct {
		there      bool
		field, fix string
	}{
		{f.Name != "", "name", "write the file's name without .yml"},
		{f.About != "" && !strings.Contains(f.About, "\n"), "about", "write one line about what is compared"},
		{len(f.Arms) > 0, "arms", "write what is compared, as in [cubic, bbr]"},
		{len(f.base.flows) > 0, "flows", "write at least one, as in - {size: 64MB}"},
	} {
		if !need.there {
			r.Fault(root, need.field, "", "missing; "+need.fix)
		}
	}
}

// section reads one part of a cell, of the file itself or of an override.
func (r *reader) section(d *draft, key string, k, v *strict.Node, known []string) {
	switch {
	case sections[key] != nil:
		r.Each(v, key, func(name string, k, v *strict.Node) { assign(r, d, d, sections[key], key+"."+name, name, k, v) })
	case key == "flows":
		r.flows(d, v)
	case key == "sysctls":
		r.Each(v, key, func(name string, _, v *strict.Node) { r.sysctl(d, name, v) })
	case key == "schedule":
		r.touch(d, key, v)
		d.schedule = r.schedule(v)
	default:
		r.Unknown(k, key, known)
	}
}

// assign sets one key of t, which is d or one of its flows.
func assign[T any](r *reader, d *draft, t *T, keys []strict.Key[T], field, name string, k, v *strict.Node) {
	r.touch(d, field, v)
	strict.Give(&r.Reader, t, keys, field, name, k, v)
}

func (r *reader) touch(d *draft, field string, v *strict.Node) {
	if err := d.touch(field, v.Line); err != nil {
		r.Fault(v, field, v.Value, err.Error())
	}
}

func (r *reader) exempt(f *file, n *strict.Node) {
	f.Exempt = map[string]string{}
	r.Each(n, "exempt", func(gate string, k, v *strict.Node) {
		field := "exempt." + gate
		reason, ok := r.Scalar(v, field)
		if !slices.Contains(Gates, gate) {
			r.Fault(k, field, "", "no such gate; known: "+strings.Join(Gates, ", "))
		} else if ok {
			f.Exempt[gate] = reason
		}
	})
}

// reader reads the sections of a scenario.
type reader struct{ strict.Reader }

// maxText: a scenario is written by hand; 1 MiB is 20,000 lines.
const maxText = 1 << 20

// Document returns the top-level mapping of a scenario or a day, nil with a fault if there is
// none.
func Document(r *strict.Reader, b []byte) *strict.Node {
	if len(b) > maxText {
		r.Faults.AddOnce(strict.Fault{Problem: fmt.Sprintf("%d bytes; at most %d", len(b), maxText)})
		return nil
	}
	root, err := strict.Document(b)
	switch {
	case err != nil:
		r.Faults.AddOnce(strict.FaultOf(err))
	case root == nil:
		r.Faults.AddOnce(strict.Fault{Problem: "empty; see docs/format/scenario.md"})
	case root.Kind != yaml.MappingNode:
		r.Fault(root, "", "", "not a scenario; write `key: value` lines")
	default:
		return root
	}
	return nil
}
