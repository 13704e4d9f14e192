package arch

import (
	"fmt"
	"slices"
	"strings"
)

var packageDocRule = rule{
	name:  "package doc",
	check: checkPackageDoc,
	planted: []plant{
		{"internal/loop/policy/a.go", "package policy\n"},
		{"internal/loop/policy/a.go", "// Something else.\npackage policy\n"},
		{"internal/loop/policy/a.go", "// Package policy decides.\n\npackage policy\n"},
		{"cmd/congctl/main.go", "package main\n"},
	},
	clean: []plant{
		{"internal/loop/policy/a.go", "// Package policy decides.\npackage policy\n"},
		{"internal/loop/policy/b.go", "package policy\n"},
		{"cmd/congctl/main.go", "// Command congctl steers.\npackage main\n"},
		{"internal/loop/kernel/bpfobj/x_bpfel.go", "package bpfobj\n"},
	},
}

// checkPackageDoc wants one package comment per package: none leaves a reader
// outside, two contradict each other sooner or later.
func checkPackageDoc(files []*file) (faults []string) {
	byDir := map[string][]*file{}
	goFiles(files, func(f *file) {
		if !f.test {
			byDir[f.dir()] = append(byDir[f.dir()], f)
		}
	})
	for _, pkg := range byDir {
		var docs []string
		for _, f := range pkg {
			if f.ast.Doc != nil {
				docs = append(docs, f.path)
				faults = append(faults, checkDocStart(f)...)
			}
		}
		switch {
		case len(docs) == 0:
			faults = append(faults, pkg[0].fault(1, "package %s has no doc comment: say what it is, what it is not, and its one trap", pkg[0].ast.Name.Name))
		case len(docs) > 1:
			faults = append(faults, fmt.Sprintf("%s:1: package comment stands in %d files: %v", docs[0], len(docs), docs))
		}
	}
	slices.Sort(faults)
	return faults
}

func checkDocStart(f *file) []string {
	want := "Package " + f.ast.Name.Name + " "
	if f.ast.Name.Name == "main" {
		want = "Command "
	}
	if !strings.HasPrefix(f.ast.Doc.Text(), want) {
		return []string{f.fault(1, "package comment does not start with %q", want)}
	}
	return nil
}
