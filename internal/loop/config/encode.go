package config

import (
	"fmt"
	"reflect"
	"time"

	"go.yaml.in/yaml/v3"
)

// Text writes c as a file that Parse reads back to the same: its keys, durations with a
// unit, and nothing that another key sets.
func (c Config) Text() ([]byte, error) {
	root, err := section(reflect.ValueOf(c), "")
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	return yaml.Marshal(root)
}

func section(v reflect.Value, path string) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := join(path, keyOf(f))
		if derived[name] != "" || name == "-" {
			continue
		}
		value, err := valueNode(v.Field(i), isSeconds(f), name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: keyOf(f)}, value)
	}
	return n, nil
}

func valueNode(v reflect.Value, seconds bool, name string) (*yaml.Node, error) {
	switch {
	case v.Type() == durationType:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: FormatDuration(time.Duration(v.Int()))}, nil
	case seconds:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: FormatDuration(time.Duration(v.Int()) * time.Second)}, nil
	case v.Kind() == reflect.Struct:
		return section(v, name)
	case v.Kind() == reflect.Slice && v.Len() == 0:
		return &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}, nil
	}
	n := &yaml.Node{}
	return n, n.Encode(v.Interface())
}
