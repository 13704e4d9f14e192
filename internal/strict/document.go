package strict

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Node is a value of a document.
type Node = yaml.Node

// Document returns the root of the one document in b, nil if there is none. The error is a
// [Fault] or yaml's own; FaultOf makes a fault of both.
func Document(b []byte) (*Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc, more Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, Fault{Line: more.Line, Problem: "a second document", Fix: "keep one"}
	}
	return doc.Content[0], nil
}

// Empty reports whether a document sets nothing.
func Empty(root *Node) bool {
	return root == nil || root.Kind == yaml.ScalarNode && root.Tag == "!!null"
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// quoted is the only text of the document in an error of yaml: the name of an anchor, which a password that begins with * becomes.
var quoted = regexp.MustCompile(` '.*'`)

// FaultOf returns an error of Document as a fault.
func FaultOf(err error) Fault {
	if f, is := err.(Fault); is {
		return f
	}
	f := Fault{Problem: err.Error(), Fix: "not YAML: look for a tab, a missing colon or a quote"}
	if m := yamlLine.FindStringSubmatch(f.Problem); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		f.Problem = m[2]
	}
	f.Problem = quoted.ReplaceAllString(f.Problem, "")
	return f
}
