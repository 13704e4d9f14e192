package kconfig

import "fmt"

// Verdicts of a symbol and of a feature.
const (
	OK      = "ok"
	Missing = "missing"
	Unknown = "unknown" // the evidence does not go that far
)

// Report lists for each feature whether a kernel has it.
type Report struct {
	Release  string          `json:"release"`
	Sources  []Source        `json:"sources"`
	Features []FeatureReport `json:"features"`
}

// FeatureReport is one feature.
type FeatureReport struct {
	Feature string         `json:"feature"`
	About   string         `json:"about"`
	Verdict string         `json:"verdict"`
	As      string         `json:"as"` // built in, module, ""
	Symbols []SymbolReport `json:"symbols"`
}

// SymbolReport is one symbol that a feature needs.
type SymbolReport struct {
	Symbol  string `json:"symbol"` // with the prefix
	Verdict string `json:"verdict"`
	Have    Value  `json:"have"` // "" if unknown
	Want    string `json:"want"` // y, or "y or m"
	Module  string `json:"module,omitempty"`
	Since   string `json:"since,omitempty"` // of Linux
	About   string `json:"about"`
	Why     string `json:"why,omitempty"` // of a verdict other than ok
}

// Check compares the evidence with features.
func Check(e *Evidence, list []Feature) Report {
	r := Report{Release: e.Release, Sources: e.Sources, Features: []FeatureReport{}}
	if r.Sources == nil {
		r.Sources = []Source{}
	}
	for _, f := range list {
		r.Features = append(r.Features, e.feature(f))
	}
	return r
}

// Verdict returns the worst verdict of all features: missing before unknown before ok.
func (r *Report) Verdict() string {
	worst := OK
	for _, f := range r.Features {
		worst = worse(worst, f.Verdict)
	}
	return worst
}

func worse(a, b string) string {
	for _, v := range []string{Missing, Unknown} {
		if a == v || b == v {
			return v
		}
	}
	return OK
}

// feature looks only at its own symbols: if one is on, so is what it needs, whatever a later
// kernel has made of that.
func (e *Evidence) feature(f Feature) FeatureReport {
	r := FeatureReport{Feature: f.Name, About: f.About, Verdict: OK, As: "built in"}
	for _, name := range f.Symbols {
		s := e.either(name, f.Or[name])
		r.Verdict = worse(r.Verdict, s.Verdict)
		if s.Have == Module {
			r.As = "module"
		}
		r.Symbols = append(r.Symbols, s)
	}
	if r.Verdict != OK {
		r.As = ""
	}
	return r
}

// either looks at a symbol, and if that is absent at one that serves as well.
func (e *Evidence) either(name, or string) SymbolReport {
	r := e.symbol(find(name))
	if r.Verdict == OK || or == "" {
		return r
	}
	if other := e.symbol(find(or)); other.Verdict == OK {
		return other
	}
	r.Why += "; " + Prefix + or + " would do as well"
	return r
}

func (e *Evidence) symbol(s *Symbol) SymbolReport {
	r := SymbolReport{Symbol: Prefix + s.Name, Verdict: OK, Want: "y", Module: s.Module, Since: s.Since.String(), About: s.About}
	if s.Module != "" {
		r.Want = "y or m"
	}
	have, known := e.have(s)
	if !known {
		r.Verdict, r.Why = Unknown, e.unknown(s)
		return r
	}
	r.Have = have
	switch {
	case e.uninstalled(s):
		r.Verdict = Missing
		r.Why = fmt.Sprintf("the configuration has it as a module, but the modules of %s have no %s: install your distribution's package of extra modules", e.Release, s.Module)
	case !have.On() || have == Module && s.Module == "":
		r.Verdict, r.Why = Missing, e.missing(s)
	}
	return r
}

func (e *Evidence) unknown(s *Symbol) string {
	switch {
	case e.Config != nil:
		return "left out of the file, which is no whole .config: one made by `make savedefconfig` has no line for a default"
	case e.Modules == nil:
		return "no configuration and no list of modules was found"
	case s.Module == "":
		return "not a module, so lists of modules do not tell; a configuration would"
	}
	return "no module of that name, but it may exist: modules.builtin or modules.dep is missing"
}

// missing returns why a symbol is absent: the first reason that explains it.
func (e *Evidence) missing(s *Symbol) string {
	if v := ParseVersion(e.Release); v != (Version{}) && v.Before(s.Since) {
		return fmt.Sprintf("Linux %s does not have it, %s is the first that has: install a newer kernel of your distribution", v, s.Since)
	}
	if e.Config == nil {
		return "neither built in nor a module"
	}
	if need := unmet(e.Config, s); need != "" {
		return "not set; it also needs " + need
	}
	return "not set"
}

// unmet returns the first thing that s needs and c lacks, from the bottom up.
func unmet(c *Config, s *Symbol) string {
	for _, need := range closure([]string{s.Name}) {
		if need == s {
			continue
		}
		if !c.Get(need.Name).On() {
			return Prefix + need.Name
		}
		if s.Hard && need.Module != "" && c.Get(need.Name) != Yes {
			return Prefix + need.Name + "=y"
		}
	}
	return ""
}
