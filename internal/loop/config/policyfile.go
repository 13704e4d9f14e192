package config

import (
	"fmt"
	"os"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// ReadPolicy reads the file at name with ParsePolicy.
func ReadPolicy(name string) (Config, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return Config{}, fmt.Errorf("read policy: %w", err)
	}
	c, err := ParsePolicy(b)
	if err != nil {
		return Config{}, fmt.Errorf("read policy %s: %w", name, err)
	}
	return c, nil
}

// ParsePolicy reads a configuration, or a file that has the keys of its policy
// section alone, at the top level: what a trial of other rules needs. Which of the two
// it is follows from its keys; a file with keys of both is a configuration with faults.
// All else is as in Parse.
func ParsePolicy(b []byte) (Config, error) {
	root, err := document(b)
	if err != nil {
		return Config{}, err
	}
	if root != nil && !hasKey(root, reflect.TypeFor[Config]()) {
		section := &yaml.Node{Kind: yaml.ScalarNode, Value: "policy", Line: root.Line}
		root = &yaml.Node{Kind: yaml.MappingNode, Line: root.Line, Content: []*yaml.Node{section, root}}
	}
	return parse(root)
}

// hasKey reports whether a mapping has any key of a struct.
func hasKey(n *yaml.Node, of reflect.Type) bool {
	v := reflect.New(of).Elem()
	for i := 0; i+1 < len(n.Content); i += 2 {
		if _, _, ok := fieldByKey(v, n.Content[i].Value); ok {
			return true
		}
	}
	return false
}
