package kconfig

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Prefix of every symbol in a configuration.
const Prefix = "CONFIG_"

// Value of a symbol: y, m, n, a number, or a quoted text, as in the file. A symbol that a
// whole file does not name is n: Kconfig leaves out what cannot be chosen. What a partial one does
// not name is unknown, as it may be a default.
type Value string

// The values of a tristate.
const (
	Yes    Value = "y"
	Module Value = "m"
	No     Value = "n"
)

// On reports whether the symbol is in the kernel or a module.
func (v Value) On() bool { return v == Yes || v == Module }

// Config is a .config file or a fragment of one.
type Config struct {
	Release string // of the kernel, from the head of a whole .config; "" without one
	// Whole: it has the head that Kconfig writes, which a fragment and the output of `make savedefconfig`
	// have not.
	Whole bool
	// Partial: symbols that it does not name are unknown.
	Partial bool
	values  map[string]Value
	order   []string
}

// Get returns a symbol's value by its name without the prefix.
func (c *Config) Get(symbol string) Value {
	if v, ok := c.values[symbol]; ok {
		return v
	}
	return No
}

// Names reports whether the value of a symbol is known.
func (c *Config) Names(symbol string) bool {
	_, named := c.values[symbol]
	return named || !c.Partial
}

// Symbols of the file, without the prefix, in its order.
func (c *Config) Symbols() []string { return slices.Clone(c.order) }

// maxBytes of a configuration: a distribution's largest has 300 kB.
const maxBytes = 8 << 20

// maxFaults is how many one error lists: the first ones show that a file is no configuration.
const maxFaults = 10

var (
	assigned = regexp.MustCompile(`^CONFIG_([A-Za-z0-9_]+)=(.*)$`)
	unset    = regexp.MustCompile(`^# CONFIG_([A-Za-z0-9_]+) is not set$`)
	headLine = regexp.MustCompile(`^# Linux/\S+ (\S+) Kernel Configuration$`)
	literal  = regexp.MustCompile(`^(?:[ymn]|-?[0-9]+|0[xX][0-9a-fA-F]+|"(?:[^"\\]|\\.)*")$`)
)

// Parse reads a configuration or a fragment. The last line on a symbol counts, as in the
// kernel's own reader; a line that that reader would only warn of is an error here. The
// error names each wrong line.
func Parse(text []byte) (*Config, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("parse configuration: %d bytes; the largest of a kernel has some 300,000: name a .config file", len(text))
	}
	c := &Config{values: map[string]Value{}}
	var faults []string
	line := 0
	for l := range strings.Lines(string(text)) {
		line++
		if fault := c.line(strings.TrimRight(l, " \t\r\n")); fault != "" {
			faults = append(faults, fmt.Sprintf("line %d: %s", line, fault))
		}
	}
	if len(c.order) == 0 && len(faults) == 0 {
		return nil, fmt.Errorf("parse configuration: none of its %d lines sets a symbol: name a .config file or a fragment", line)
	}
	if n := len(faults); n > maxFaults {
		faults = append(faults[:maxFaults], fmt.Sprintf("and %d more lines", n-maxFaults))
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("parse configuration: %s", strings.Join(faults, "\n"))
	}
	return c, nil
}

// line reads one line, or returns what is wrong with it.
func (c *Config) line(l string) (fault string) {
	if m := unset.FindStringSubmatch(l); m != nil {
		c.set(m[1], No)
		return ""
	}
	if m := headLine.FindStringSubmatch(l); m != nil {
		c.Release = m[1]
	}
	c.Whole = c.Whole || c.Release != "" || strings.HasPrefix(l, "# Automatically generated")
	if l == "" || strings.HasPrefix(l, "#") {
		return ""
	}
	m := assigned.FindStringSubmatch(l)
	switch {
	case m == nil:
		return fmt.Sprintf("%q: neither CONFIG_SYMBOL=value, nor a comment", cut(l))
	case m[2] == "":
		return fmt.Sprintf("%s%s has no value: write y, m, or \"# %s%s is not set\"", Prefix, m[1], Prefix, m[1])
	case !literal.MatchString(m[2]):
		return fmt.Sprintf("%s%s=%q: a value is y, m, n, a number, or a text in quotes; nothing may follow it", Prefix, m[1], cut(m[2]))
	}
	c.set(m[1], Value(m[2]))
	return ""
}

func (c *Config) set(symbol string, v Value) {
	if _, named := c.values[symbol]; !named {
		c.order = append(c.order, symbol)
	}
	c.values[symbol] = v
}

// cut keeps an error on one line.
func cut(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
