package config

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Difference is a key that has not its default value, as a file would write both.
type Difference struct {
	Key, Value, Default string
	Scaled              bool // it follows from the window
}

// Differences lists the keys that are not their defaults, in the file's order.
func (c Config) Differences() (out []Difference, err error) {
	scaled := Default()
	scaled.Window = c.Window
	scaled.scale(func(path string) bool { return path == "window" })
	var keys []string
	values := make([]map[string]string, 3)
	for i, of := range []Config{c, Default(), scaled} {
		root, err := section(reflect.ValueOf(of), "")
		if err != nil {
			return nil, fmt.Errorf("compare configuration: %w", err)
		}
		values[i] = map[string]string{}
		keys = flatten(root, "", values[i], nil)
	}
	for _, k := range keys {
		if mine := values[0][k]; mine != values[1][k] {
			out = append(out, Difference{k, mine, values[1][k], k != "window" && mine == values[2][k]})
		}
	}
	return out, nil
}

// flatten gives the keys of a section in order and sets their values by dotted key.
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
