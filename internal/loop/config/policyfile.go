package config

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// ReadPolicy reads the file at name with ParsePolicy.
func ReadPolicy(name string) (Config, error) { return readFile("policy", name, parsePolicy) }

// ParsePolicy reads a configuration, or a file with only the keys of its policy section
// at the top level, as a trial of other rules needs. The keys tell which of the two it
// is; a file with keys of both is a configuration with faults. Otherwise it is as Parse.
func ParsePolicy(b []byte) (Config, error) { return parsePolicy(b, nil) }

func parsePolicy(b []byte, exposed error) (Config, error) {
	root, err := document(b)
	if err != nil {
		return Config{}, err
	}
	if root != nil && !hasKey(root, reflect.TypeFor[Config]()) {
		section := &yaml.Node{Kind: yaml.ScalarNode, Value: "policy", Line: root.Line}
		root = &yaml.Node{Kind: yaml.MappingNode, Line: root.Line, Content: []*yaml.Node{section, root}}
	}
	return whole(root, exposed)
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
