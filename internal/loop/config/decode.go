package config

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/strict"
)

// decoder walks the YAML nodes. yaml.v3 can refuse unknown keys, but it stops at the
// first bad value, names no field, and does not say which fields a file sets. This
// decoder reads what the Config struct has, notes the line of every key, and collects
// all faults.
type decoder struct {
	lines  map[string]int    // dotted key -> line: the fields that the file sets
	values map[string]string // of the single-valued ones, as written
	faults strict.Faults
}

func (d *decoder) fault(n *yaml.Node, field, problem, fix string) {
	d.faults = append(d.faults, strict.Fault{Field: field, Line: n.Line, Value: n.Value, Problem: problem, Fix: fix})
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.faults = append(d.faults, strict.Fault{Field: path, Line: n.Line, Problem: "not a section", Fix: "indent its keys below it"})
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		name, shown := join(path, key.Value), join(path, strict.PlainKey(key, val))
		field, seconds, ok := fieldByKey(v, key.Value)
		switch {
		case moved[name] != "":
			d.faults = append(d.faults, strict.Fault{Field: name, Line: key.Line, Problem: "is now " + moved[name], Fix: "write its value there"})
		case gone[name] != "" && d.lines[name] == 0:
			d.lines[name], d.values[name] = key.Line, val.Value
			if name == modeKey && val.Value != "on" && val.Value != "off" {
				d.fault(val, name, "unknown", "remove it: policy.select says whether there is an experiment")
			}
		case gone[name] != "":
			d.fault(val, name, fmt.Sprintf("set twice, first in line %d", d.lines[name]), "remove both")
		case key.Kind != yaml.ScalarNode || !ok:
			d.faults = append(d.faults, strict.Fault{Field: shown, Line: key.Line, Problem: "unknown key", Fix: suggest(v, path, key.Value)})
		case derived[name] != "":
			d.faults = append(d.faults, strict.Fault{Field: name, Line: key.Line, Problem: "not a key of its own", Fix: "set " + derived[name]})
		case d.lines[name] > 0:
			d.fault(val, name, fmt.Sprintf("set twice, first in line %d", d.lines[name]), "keep one")
		default:
			d.lines[name] = key.Line
			if seconds && val.Kind == yaml.ScalarNode {
				d.seconds(val, field, name)
			} else {
				d.value(val, field, name)
			}
		}
	}
}

func (d *decoder) value(n *yaml.Node, v reflect.Value, name string) {
	switch _, text := v.Addr().Interface().(encoding.TextUnmarshaler); {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.fault(n, name, "anchors and aliases are not supported", "write the value out")
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		d.fault(n, name, "no value", "add one or remove the line")
	case v.Kind() == reflect.Struct && !text:
		d.mapping(n, v, name)
	case v.Kind() == reflect.Slice:
		d.list(n, v, name)
	case n.Kind != yaml.ScalarNode:
		d.fault(n, name, "not a single value", `write one value, in quotes where it has ": "`)
	default:
		d.values[name] = n.Value
		if problem, fix := setScalar(n, v); problem != "" {
			d.fault(n, name, problem, fix)
		}
	}
}

func (d *decoder) seconds(n *yaml.Node, v reflect.Value, name string) {
	d.values[name] = n.Value
	s, err := wholeSeconds(n.Value)
	if err != nil {
		d.fault(n, name, "not a duration in whole seconds", "write a number and a unit, as in 90s, 30m or 24h")
		return
	}
	v.SetInt(s)
}

// list reads a sequence, or one scalar as a list of one.
func (d *decoder) list(n *yaml.Node, v reflect.Value, name string) {
	items := n.Content
	switch n.Kind {
	case yaml.ScalarNode:
		items = []*yaml.Node{n}
	case yaml.MappingNode:
		d.fault(n, name, "not a list", "write [a, b]")
		return
	}
	v.SetZero()
	for _, item := range items {
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(item, e, name)
		v.Set(reflect.Append(v, e))
	}
	delete(d.values, name) // that of the last item
}

func setScalar(n *yaml.Node, v reflect.Value) (problem, fix string) {
	if v.Type() == durationType {
		dur, err := ParseDuration(n.Value)
		if err != nil {
			return "not a duration", "write a number and a unit, as in 10s, 5m, 24h or 7d"
		}
		v.SetInt(int64(dur))
		return "", ""
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(n.Value)); err != nil {
			return textProblem(v, err)
		}
		return "", ""
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(n.Value)
	case reflect.Bool:
		return setBool(n.Value, v)
	case reflect.Float64:
		return setFloat(n.Value, v)
	default:
		return setInteger(n.Value, v)
	}
	return "", ""
}

func textProblem(v reflect.Value, err error) (problem, fix string) {
	if v.Type() == reflect.TypeFor[policy.Listed]() {
		return notListed, listedFix
	}
	if v.Type().PkgPath() == "net/netip" {
		return "not a network", "write one as 203.0.113.0/24 or 2001:db8::/56"
	}
	return err.Error(), ""
}

func setBool(s string, v reflect.Value) (problem, fix string) {
	switch s {
	case "true", "false":
		v.SetBool(s == "true")
		return "", ""
	}
	return "not true or false", ""
}

func setFloat(s string, v reflect.Value) (problem, fix string) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || x-x != 0 { // NaN and infinities
		return "not a number", "write a decimal number, as in 0.2"
	}
	v.SetFloat(x)
	return "", ""
}

// setInteger reads a decimal whole number; "_" may group its digits.
func setInteger(s string, v reflect.Value) (problem, fix string) {
	digits := strings.ReplaceAll(s, "_", "")
	if v.CanUint() {
		x, err := strconv.ParseUint(digits, 10, v.Type().Bits())
		if err != nil {
			return fmt.Sprintf("not a whole number from 0 to %d", uint64(1)<<v.Type().Bits()-1), ""
		}
		v.SetUint(x)
		return "", ""
	}
	x, err := strconv.ParseInt(digits, 10, v.Type().Bits())
	if err != nil {
		return "not a whole number", ""
	}
	v.SetInt(x)
	return "", ""
}

// keyOf returns a field's key in the file: its yaml tag, or its Go name without one.
func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if isSeconds(f) {
		name = strings.TrimSuffix(name, secondsTail)
	}
	return cmp.Or(name, f.Name)
}

func isSeconds(f reflect.StructField) bool {
	return f.Type.Kind() == reflect.Int64 && strings.HasSuffix(f.Tag.Get("yaml"), secondsTail)
}

func fieldByKey(v reflect.Value, key string) (field reflect.Value, seconds, ok bool) {
	for i := range v.NumField() {
		if f := v.Type().Field(i); keyOf(f) == key && key != "-" {
			return v.Field(i), isSeconds(f), true
		}
	}
	return reflect.Value{}, false, false
}

func keys(t reflect.Type, path string) (out []string) {
	for i := range t.NumField() {
		if k := keyOf(t.Field(i)); derived[join(path, k)] == "" && k != "-" {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// suggest names the most likely key for a misspelt one, or all keys of the section.
func suggest(v reflect.Value, path, key string) string {
	best, dist := "", 3
	for _, k := range keys(v.Type(), path) {
		if n := editDistance(k, key); n < dist {
			best, dist = k, n
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "known here: " + strings.Join(keys(v.Type(), path), ", ")
}

// editDistance counts insertions, deletions and replacements (Levenshtein 1965).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
