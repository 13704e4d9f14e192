package kconfig

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Evidence is what is known about one kernel.
type Evidence struct {
	Release string   // `uname -r`, or the version that a configuration's head names; "": unknown
	Config  *Config  // nil: none found
	Modules *Modules // nil: none found
	Sources []Source // all places that were tried, in order
}

// Source is a place that was tried.
type Source struct {
	Path   string `json:"path"`
	Used   bool   `json:"used"`
	Proves string `json:"proves"`
	Note   string `json:"note,omitempty"` // why it was not used
}

// Modules are those of a kernel, by name, "_" for "-".
type Modules struct {
	Builtin map[string]bool // nil: modules.builtin was missing, so what has no file may be built in
	Files   map[string]bool // nil: modules.dep was missing
}

// ParseModules reads modules.builtin and modules.dep; nil if missing. Each line begins with
// the path of a module, below the release's folder.
func ParseModules(builtin, dep []byte) (*Modules, error) {
	b, err := moduleNames("modules.builtin", builtin)
	if err != nil {
		return nil, err
	}
	d, err := moduleNames("modules.dep", dep)
	if err != nil {
		return nil, err
	}
	return &Modules{b, d}, nil
}

func moduleNames(file string, text []byte) (map[string]bool, error) {
	if text == nil {
		return nil, nil
	}
	names := map[string]bool{}
	line := 0
	for l := range strings.Lines(string(text)) {
		line++
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		where, _, _ := strings.Cut(l, ":")
		name, _, found := strings.Cut(path.Base(where), ".ko")
		if !found || name == "" {
			return nil, fmt.Errorf("parse %s: line %d: %q: not the path of a module, kernel/.../name.ko", file, line, cut(l))
		}
		names[strings.ReplaceAll(name, "-", "_")] = true
	}
	return names, nil
}

// have returns a symbol's value as far as the evidence goes; known is false beyond it.
func (e *Evidence) have(s *Symbol) (v Value, known bool) {
	switch {
	case e.Config != nil && !e.Config.Names(s.Name):
		return Yes, needed(e.Config, s.Name)
	case e.Config != nil:
		return e.Config.Get(s.Name), true
	case e.Modules == nil:
		return No, false
	case s.Module != "":
		return e.Modules.have(s.Module)
	case e.implied(s.Name):
		return Yes, true
	}
	return No, false
}

func (m *Modules) have(name string) (v Value, known bool) {
	switch {
	case m.Builtin[name]:
		return Yes, true
	case m.Files[name]:
		return Module, true
	}
	return No, m.Builtin != nil && m.Files != nil
}

// needed reports whether a configuration has a symbol on that takes this one.
func needed(c *Config, name string) bool {
	return slices.ContainsFunc(symbols, func(s Symbol) bool {
		return s.Name != name && c.Get(s.Name).On() && slices.ContainsFunc(closure([]string{s.Name}), func(n *Symbol) bool { return n.Name == name })
	})
}

// implied reports whether something exists that could not exist without the symbol.
func (e *Evidence) implied(name string) bool {
	for i := range symbols {
		s := &symbols[i]
		if s.Module == "" {
			continue
		}
		if v, _ := e.Modules.have(s.Module); !v.On() {
			continue
		}
		for _, need := range closure([]string{s.Name}) {
			if need.Name == name {
				return true
			}
		}
	}
	return false
}

// uninstalled reports whether the configuration makes a module of s, and this host lacks its file.
func (e *Evidence) uninstalled(s *Symbol) bool {
	if e.Config == nil || e.Modules == nil || s.Module == "" || e.Config.Get(s.Name) != Module {
		return false
	}
	v, known := e.Modules.have(s.Module)
	return known && !v.On()
}
