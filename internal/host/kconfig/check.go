package kconfig

import "fmt"

// Verdicts of a symbol and of a feature.
const (
	OK      = "ok"
	Missing = "missing"
	Unknown = "unknown" // the evidence does not reach so far
)

// Report says of each feature whether a kernel has it.
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

// SymbolReport is one symbol that a feature asks for.
type SymbolReport struct {
	Symbol  string `json:"symbol"` // with the prefix
	Verdict string `json:"verdict"`
	Have    Value  `json:"have"` // "" where unknown
	Want    string `json:"want"` // y, or "y or m"
	Module  string `json:"module,omitempty"`
	Since   string `json:"since,omitempty"` // of Linux
	About   string `json:"about"`
	Why     string `json:"why,omitempty"` // of a verdict other than ok
}

// Check holds the evidence against features.
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

// Verdict of all features: the worst of them, missing before unknown before ok.
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

// feature looks at its own symbols alone: where one is on, so is what it needs, whatever a
// later kernel has made of that.
func (e *Evidence) feature(f Feature) FeatureReport {
	r := FeatureReport{Feature: f.Name, About: f.About, Verdict: OK, As: "built in"}
	for _, name := range f.Symbols {
		s := e.symbol(find(name))
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
		r.Why = fmt.Sprintf("the configuration has it as a module, and the modules of %s have no %s: install your distribution's package of further modules", e.Release, s.Module)
	case !have.On() || have == Module && s.Module == "":
		r.Verdict, r.Why = Missing, e.missing(s)
	}
	return r
}

func (e *Evidence) unknown(s *Symbol) string {
	switch {
	case e.Modules == nil:
		return "no configuration and no list of modules was found"
	case s.Module == "":
		return "no module of its own, so that lists of modules do not tell: a configuration would"
	}
	return "no module of that name, and without both modules.builtin and modules.dep it may be there all the same"
}

// missing says why a symbol is not there, the first reason that explains it.
func (e *Evidence) missing(s *Symbol) string {
	if v := ParseVersion(e.Release); v != (Version{}) && v.before(s.Since) {
		return fmt.Sprintf("Linux %s does not have it, %s is the first: install your distribution's newer kernel", v, s.Since)
	}
	if e.Config == nil {
		return "neither built in nor a module"
	}
	if need := unmet(e.Config, s); need != "" {
		return "not set, and needs " + need + ", which is not so either"
	}
	return "not set"
}

// unmet names the first thing that s needs and c has not, from the ground up.
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
