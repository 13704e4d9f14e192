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
	want := bill{Format: "CycloneDX", Spec: "1.6", Version: 1}
	want.Metadata.Component = component{Type: "application", Name: "example.com/a", Version: "1.2.3", URL: "pkg:golang/example.com/a@1.2.3"}
	want.Components = []component{
		{Type: "library", Name: "std", Version: "go1.26.0", URL: "pkg:golang/std@go1.26.0"},
		{Type: "library", Name: "example.com/b", Version: "v0.1.0", URL: "pkg:golang/example.com/b@v0.1.0"},
		{Type: "library", Name: "example.com/fork", Version: "v0.2.1", URL: "pkg:golang/example.com/fork@v0.2.1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
