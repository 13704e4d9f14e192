package main

import (
	"debug/buildinfo"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBill(t *testing.T) {
	got := of(&buildinfo.BuildInfo{
		GoVersion: "go1.26.0", Main: debug.Module{Path: "example.com/a", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.com/b", Version: "v0.1.0"},
			{Path: "example.com/c", Version: "v0.2.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v0.2.1"}},
		},
	}, "1.2.3")
	want := bill{"CycloneDX", "1.6", 1, metadata{component{"application", "example.com/a", "1.2.3", "pkg:golang/example.com/a@1.2.3"}}, []component{
		{"library", "std", "go1.26.0", "pkg:golang/std@go1.26.0"},
		{"library", "example.com/b", "v0.1.0", "pkg:golang/example.com/b@v0.1.0"},
		{"library", "example.com/fork", "v0.2.1", "pkg:golang/example.com/fork@v0.2.1"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
