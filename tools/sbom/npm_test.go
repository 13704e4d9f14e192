package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPackagesOfThePage(t *testing.T) {
	got, err := npm([]byte(`{"lockfileVersion": 3, "packages": {
		"": {"name": "page", "license": "Apache-2.0"},
		"node_modules/b": {"version": "1.0.0", "license": "MIT"},
		"node_modules/b/node_modules/@s/a": {"version": "2.0.0", "license": "(MIT OR ISC)"},
		"node_modules/builds": {"version": "3.0.0", "license": "MIT", "dev": true}}}`))
	want := []component{
		{Type: "library", Name: "@s/a", Version: "2.0.0", URL: "pkg:npm/%40s/a@2.0.0", Licenses: []licence{{"(MIT OR ISC)"}}},
		{Type: "library", Name: "b", Version: "1.0.0", URL: "pkg:npm/b@1.0.0", Licenses: []licence{{"MIT"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	for _, text := range []string{"", `{"lockfileVersion": 2}`, `{"lockfileVersion": 3, "packages": {"node_modules/b": {"version": "1.0.0"}}}`} {
		if got, err := npm([]byte(text)); err == nil {
			t.Errorf("%q gives %v", text, got)
		}
	}
}

// TestPageSaysTheSame: the bill and the page's own list of licences name the same packages.
func TestPageSaysTheSame(t *testing.T) {
	lock, err := os.ReadFile("../../web/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	licences, err := os.ReadFile("../../internal/web/dist/licences.txt")
	if err != nil {
		t.Fatal(err)
	}
	page, err := npm(lock)
	if err != nil || len(page) == 0 {
		t.Fatalf("%d packages, %v", len(page), err)
	}
	lines := strings.Split(string(licences), "\n")
	for _, c := range page {
		if !slices.Contains(lines, c.Name+" "+c.Version) {
			t.Errorf("licences.txt has no line %s %s", c.Name, c.Version)
		}
	}
}

func FuzzNpm(f *testing.F) {
	f.Add(`{"lockfileVersion": 3, "packages": {"node_modules/b": {"version": "1.0.0", "license": "MIT"}}}`)
	f.Add(`{"lockfileVersion": 3, "packages": {"b": {}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := npm([]byte(text)); err != nil && got != nil {
			t.Errorf("%q: %v and %v", text, got, err)
		}
	})
}
