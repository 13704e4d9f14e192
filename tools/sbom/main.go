// Command sbom prints what a Go binary is made of, as CycloneDX 1.6 in JSON: the modules of its own
// build information, and the packages of the page in it, which a package-lock.json names. The same
// binary and the same lock have the same bill.
//
//	go run ./tools/sbom bin/congctl 1.2.3 web/package-lock.json
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
)

type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl"` // package URL

	Licenses []licence `json:"licenses,omitempty"`
}

// licence is an SPDX expression.
type licence struct {
	Expression string `json:"expression"`
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY VERSION PACKAGE-LOCK")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func write(binary, version, lock string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read %s: %w", binary, err)
	}
	text, err := os.ReadFile(lock)
	if err != nil {
		return err
	}
	page, err := npm(text)
	if err != nil {
		return err
	}
	b := of(info, version)
	b.Components = append(b.Components, page...)
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(b)
}

// of lists the modules that are linked in, and Go's own library.
func of(info *buildinfo.BuildInfo, version string) bill {
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1}
	b.Metadata.Component = golang("application", info.Main.Path, version)
	b.Components = []component{golang("library", "std", info.GoVersion)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, golang("library", m.Path, m.Version))
	}
	return b
}

func golang(kind, path, version string) component {
	return component{Type: kind, Name: path, Version: version, URL: "pkg:golang/" + path + "@" + version}
}
