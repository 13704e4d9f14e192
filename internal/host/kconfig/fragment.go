package kconfig

import (
	"fmt"
	"strings"
)

// Fragment returns the lines that the features need in a kernel's configuration, for
// merge_config.sh: dependencies come first. What can be a module is one, otherwise it is
// built in.
//
// No comment names a symbol with its prefix: merge_config.sh greps for whole words and
// takes such a comment for a setting.
func Fragment(list []Feature, builtin bool) string {
	var b strings.Builder
	how := "as modules where they can be"
	if builtin {
		how = "built in"
	}
	fmt.Fprintf(&b, "# %s, %s. Written by congctl.\n", strings.Join(names(list), ", "), how)
	for _, s := range wanted(list, builtin) {
		fmt.Fprintf(&b, "\n# %s%s\n", s.About, sinceText(s))
		for _, line := range s.Besides {
			b.WriteString(line + "\n")
		}
		v := Yes
		if s.Module != "" && !builtin {
			v = Module
		}
		b.WriteString(setLine(s.Name, v) + "\n")
	}
	return b.String()
}

func sinceText(s *Symbol) string {
	if s.Since == (Version{}) {
		return ""
	}
	return " (Linux " + s.Since.String() + ")"
}

func names(list []Feature) (out []string) {
	for _, f := range list {
		out = append(out, f.Name)
	}
	return out
}

// wanted are all symbols of the features, with MODULES where one becomes a module.
func wanted(list []Feature, builtin bool) []*Symbol {
	var own []string
	for _, f := range list {
		own = append(own, f.Symbols...)
	}
	for _, s := range closure(own) {
		if s.Module != "" && !builtin {
			return closure(append(own, "MODULES"))
		}
	}
	return closure(own)
}

// modulesOf are the modules that the features become, as packages have them.
func modulesOf(list []Feature) (out []string) {
	for _, s := range wanted(list, false) {
		if s.Module != "" {
			out = append(out, strings.ReplaceAll(s.Module, "_", "-"))
		}
	}
	return out
}
