package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// lock is a package-lock.json, as far as a bill names it.
type lock struct {
	Version  int `json:"lockfileVersion"`
	Packages map[string]struct {
		Version string `json:"version"`
		License string `json:"license"`
		Dev     bool   `json:"dev"`
	} `json:"packages"`
}

const folder = "node_modules/"

// npm lists the packages whose code is in the dashboard's page, by name. What only builds and tests it is not.
func npm(text []byte) (all []component, err error) {
	var l lock
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	if l.Version != 3 {
		return nil, fmt.Errorf("read lock file: version %d, want 3", l.Version)
	}
	for path, p := range l.Packages {
		if path == "" || p.Dev {
			continue
		}
		at := strings.LastIndex(path, folder)
		if at < 0 {
			return nil, fmt.Errorf("read lock file: package %s is in no %s", path, folder)
		}
		name := path[at+len(folder):]
		if p.Version == "" || p.License == "" {
			return nil, fmt.Errorf("read lock file: package %s has no version or no licence", name)
		}
		all = append(all, component{Type: "library", Name: name, Version: p.Version, URL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version, Licenses: []licence{{p.License}}})
	}
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.URL, b.URL) })
	return all, nil
}
