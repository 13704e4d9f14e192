package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/strict"
)

// Read reads and parses the file at name.
func Read(name string) (Config, error) { return readFile("configuration", name, parse) }

// ReadPartly is Read for a verb that must work on a file with faults. With [strict.Faults] it
// returns what the file sets without a fault, on the defaults; of a file that is not
// YAML that is the lines of socket and state_dir. Only socket, state_dir and
// treatment.expiry are certain to be valid then.
func ReadPartly(name string) (Config, error) {
	return readFile("configuration", name, func(b []byte, exposed error) (Config, error) {
		c, faults := partly(b, exposed)
		return c, faults.Err()
	})
}

// maxFile of a configuration or a policy: the longest has some hundred lines.
const maxFile = 4 << 20

// readFile has parse know how others than the file's owner may read it, nil if they may not.
func readFile(what, name string, parse func(b []byte, exposed error) (Config, error)) (Config, error) {
	b, exposed, err := plainfile.ReadExposed(name, maxFile)
	if err != nil {
		return Config{}, fmt.Errorf("read %s: %w", what, err)
	}
	c, err := parse(b, exposed)
	if err != nil {
		return c, fmt.Errorf("read %s %s: %w", what, name, err)
	}
	return c, nil
}

var placeLine = regexp.MustCompile(`(?m)^(?:socket|state_dir):.*$`)

func partly(b []byte, exposed error) (Config, strict.Faults) {
	root, err := document(b)
	var syntax strict.Faults
	if errors.As(err, &syntax) {
		root, err = document(bytes.Join(placeLine.FindAll(b, -1), []byte("\n")))
	}
	if err != nil {
		return Default(), syntax
	}
	c, faults := read(root, exposed)
	for _, f := range faults {
		switch f.Field {
		case "socket":
			c.Socket = Default().Socket
		case "state_dir":
			c.StateDir = Default().StateDir
		case "treatment.expiry":
			c.Treatment.Expiry = Default().Treatment.Expiry
		}
	}
	return c, append(syntax, faults...)
}

// Parse reads one YAML document onto the defaults. An unknown key, a wrong type
// or a value out of bounds is a fault; the error is a [strict.Faults] with all of them.
// An empty document is the defaults.
func Parse(b []byte) (Config, error) { return parse(b, nil) }

func parse(b []byte, exposed error) (Config, error) {
	root, err := document(b)
	if err != nil {
		return Config{}, err
	}
	return whole(root, exposed)
}

func whole(root *yaml.Node, exposed error) (Config, error) {
	c, faults := read(root, exposed)
	if err := faults.Err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// read reads the top-level mapping; nil is an empty one.
func read(root *yaml.Node, exposed error) (Config, strict.Faults) {
	c := Default()
	d := decoder{lines: map[string]int{}, values: map[string]string{}}
	if root != nil {
		d.mapping(root, reflect.ValueOf(&c).Elem(), "")
	}
	d.pass(&c)
	c.follow(func(path string) bool { return d.lines[path] > 0 })
	c.derive()
	faults := c.faults()
	Exposed(&faults, exposed, c.places()...)
	d.faults = append(d.faults, d.located(faults)...)
	return c, withoutSecrets(d.faults)
}

// modeKey turned the experiment on and off once.
const modeKey = "experiment.mode"

// pass notes the keys that are gone. An experiment that was off is the selection without one. A host that was held to routes
// is not moved to eBPF unasked.
func (d *decoder) pass(c *Config) {
	note := func(name, now string) {
		c.Ignored = append(c.Ignored, fmt.Sprintf("%s (line %d): %s", name, d.lines[name], now))
	}
	if c.Tier == "route" {
		c.Tier = TierObserve
		note("tier", "route is observe now, which treats nothing; remove the line to treat by eBPF, or see congctl plan export --format ip-route")
	}
	off := d.values[modeKey] == "off"
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		switch {
		case d.lines[name] == 0:
		case name == modeKey && off:
			note(name, "off is policy.select: slowest-fifth now; write that in its place")
		default:
			note(name, gone[name])
		}
	}
	switch line := d.lines["policy.select"]; {
	case off && line == 0:
		c.Policy.Select, d.lines["policy.select"] = policy.SelectSlowest, d.lines[modeKey]
	case off && c.Policy.Select != policy.SelectSlowest:
		d.faults = append(d.faults, strict.Fault{Field: "policy.select", Line: line, Value: c.Policy.Select, Problem: "has an experiment, and experiment.mode is off",
			Fix: "remove experiment.mode, which is no key any more, or write " + policy.SelectSlowest})
	}
	if c.Policy.Select == policy.SelectSlowest && c.Policy.Cap && d.lines["policy.cap"] > 0 {
		c.Policy.Cap = false
		note("policy.cap", "slowest-fifth has no pacing cap")
	}
}

// document returns the one top-level mapping of b; nil when b is empty.
func document(b []byte) (*yaml.Node, error) {
	root, err := strict.Document(b)
	switch {
	case err != nil:
		return nil, strict.Faults{strict.FaultOf(err)}
	case strict.Empty(root):
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, strict.Faults{{Line: root.Line, Problem: "not a mapping", Fix: "write `key: value` lines"}}
	}
	return root, nil
}

// located sets the line of each fault to that of its field or section, and
// drops those of fields that already have a fault from reading.
func (d *decoder) located(faults strict.Faults) (out strict.Faults) {
	for _, f := range faults {
		if d.bad(f.Field) {
			continue
		}
		f.Line = d.lines[f.Field]
		f.Value = cmp.Or(d.values[f.Field], f.Value)
		out = append(out, f)
	}
	return out
}

func (d *decoder) bad(field string) bool {
	for _, f := range d.faults {
		if f.Field == field {
			return true
		}
	}
	return false
}
