package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Difference is a key that is not at its default, with both values as a file would write them.
type Difference struct {
	Key, Value, Default string
	Scaled              bool // it follows from the window, the wash-out from the block
}

// Differences lists the keys that are not their defaults, in the file's order.
func (c Config) Differences() (out []Difference, err error) {
	scaled := Default()
	scaled.Window = c.Window
	scaled.scale(func(path string) bool { return path == "window" })
	scaled.Experiment.Block, scaled.Experiment.Washout = blockOf(c.Window), washoutOf(c.Experiment.Block)
	keys, mine, err := c.Shown().values()
	_, defaults, err2 := Default().values()
	_, follows, err3 := scaled.values()
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	for _, k := range keys {
		if mine[k] != defaults[k] {
			out = append(out, Difference{k, mine[k], defaults[k], k != "window" && mine[k] == follows[k]})
		}
	}
	return out, nil
}

// Changes lists the keys that differ in b, in the file's order, as in
// "plan.max is 400 (was 500)".
func Changes(a, b Config) (out []string, err error) {
	_, was, err := a.Shown().values()
	keys, is, err2 := b.Shown().values()
	for _, k := range keys {
		if is[k] != was[k] {
			out = append(out, fmt.Sprintf("%s is %s (was %s)", k, short(is[k]), short(was[k])))
		}
	}
	before := a.places()
	for i, p := range b.places() {
		if *p.At != *before[i].At && is[p.Key] == was[p.Key] {
			out = append(out, p.Key+" has another user or password")
		}
	}
	return out, errors.Join(err, err2)
}

// Fixed returns the top-level keys that differ in b and cannot change while the loop runs.
func Fixed(a, b Config) (keys []string) {
	live := []string{"clients", "plan", "policy", "store", "-"}
	a.Treatment, b.Treatment = a.Treatment.WithoutLists(), b.Treatment.WithoutLists()
	a.Experiment.ControlEvery = b.Experiment.ControlEvery // the policy's; another number is another draw, under which only what agrees with the one before counts
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		key := keyOf(x.Type().Field(i))
		if !slices.Contains(live, key) && !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			keys = append(keys, key)
		}
	}
	if a.Store.RecordsFile != b.Store.RecordsFile || a.Store.Addresses != b.Store.Addresses {
		keys = append(keys, "store.records_file or store.addresses")
	}
	if b.Plan.Max > a.Plan.Max {
		keys = append(keys, "plan.max (upwards: the kernel's maps are sized at the start)")
	}
	return keys
}

// maxShort keeps a list of a thousand ranges readable in one line, in bytes.
const maxShort = 80

func short(s string) string {
	if len(s) <= maxShort {
		return s
	}
	return strings.ToValidUTF8(s[:maxShort], "") + "..."
}

// values returns the keys in the file's order and their values as a file has them.
func (c Config) values() (keys []string, values map[string]string, err error) {
	root, err := section(reflect.ValueOf(c), "")
	if err != nil {
		return nil, nil, fmt.Errorf("compare configuration: %w", err)
	}
	values = map[string]string{}
	return flatten(root, "", values, nil), values, nil
}

// flatten returns the keys of a section in order and sets their values by dotted key.
func flatten(n *yaml.Node, path string, values map[string]string, keys []string) []string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := join(path, n.Content[i].Value), n.Content[i+1]
		if value.Kind == yaml.MappingNode {
			keys = flatten(value, key, values, keys)
			continue
		}
		keys, values[key] = append(keys, key), written(value)
	}
	return keys
}

func written(n *yaml.Node) string {
	if n.Kind != yaml.SequenceNode {
		return n.Value
	}
	var items []string
	for _, item := range n.Content {
		items = append(items, item.Value)
	}
	return "[" + strings.Join(items, ", ") + "]"
}
