// Command sbom prints what a Go binary is made of, as CycloneDX 1.6 in JSON. The binary's own
// build information is its only source, but for its version, so the same binary has the same bill.
//
//	go run ./tools/sbom bin/congctl 1.2.3
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
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY VERSION")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err == nil {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		err = out.Encode(of(info, os.Args[2]))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "sbom: read %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// of lists the modules that are linked in, and Go's own library.
func of(info *buildinfo.BuildInfo, version string) bill {
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1}
	b.Metadata.Component = component{"application", info.Main.Path, version, "pkg:golang/" + info.Main.Path + "@" + version}
	b.Components = []component{{"library", "std", info.GoVersion, "pkg:golang/std@" + info.GoVersion}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version})
	}
	return b
}
