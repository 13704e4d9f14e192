package kconfig

import "fmt"

// Comparison verdicts, besides OK.
const (
	Dropped = "dropped" // requested, and absent
	Differs = "differs" // present, but not as requested
)

// Difference is one line of a fragment beside its result.
type Difference struct {
	Symbol  string `json:"symbol"` // with the prefix
	Asked   Value  `json:"asked"`
	Got     Value  `json:"got"` // "" if unknown
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
}

// Compare reports what became of a fragment's lines in the configuration built with it, in
// the fragment's order. A module that came out built in is as good.
func Compare(fragment, result *Config, release string) (list []Difference) {
	for _, name := range fragment.order {
		d := Difference{Symbol: Prefix + name, Asked: fragment.Get(name), Got: result.Get(name), Verdict: OK}
		switch {
		case !result.Names(name):
			d.Got, d.Verdict, d.Why = "", Unknown, "left out of the file, which is no whole .config"
		case d.Asked == d.Got:
		case d.Asked == Module && d.Got == Yes:
			d.Why = "built in, which is as good"
		case d.Asked == No:
			d.Verdict, d.Why = Differs, "another symbol selects it, or a later fragment sets it"
		case d.Got == No:
			d.Verdict, d.Why = Dropped, dropped(result, name, release)
		case d.Asked == Yes && d.Got == Module:
			d.Verdict, d.Why = Differs, "a module: a later fragment sets it, or a dependency is a module itself"
		default:
			d.Verdict, d.Why = Differs, "a later fragment sets it"
		}
		list = append(list, d)
	}
	return list
}

// AllOK reports whether nothing was dropped and nothing differs.
func AllOK(list []Difference) bool {
	for _, d := range list {
		if d.Verdict != OK {
			return false
		}
	}
	return true
}

func dropped(result *Config, name, release string) string {
	s := find(name)
	if s == nil {
		return fmt.Sprintf("a dependency is unmet, or this kernel has no such symbol: `make menuconfig`, then / and %s, shows which", name)
	}
	e := Evidence{Release: release, Config: result}
	why := e.missing(s)
	if why == "not set" {
		return "its known dependencies are met: the fragment was not merged, or `make menuconfig`, then /, shows another dependency"
	}
	return why
}
