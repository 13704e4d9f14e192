package uml

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCachedIsOfThisRecipe: a kernel built from other options or patches does not count.
func TestCachedIsOfThisRecipe(t *testing.T) {
	cache := t.TempDir()
	for _, folder := range []string{"uml-0123456789ab-000000000000", "linux-image-6.1"} {
		place(t, filepath.Join(cache, folder, "linux-6.12.1"))
	}
	if k, ok := Cached(cache); ok {
		t.Fatalf("found %+v", k)
	}
	path := filepath.Join(cache, "uml-0123456789ab-"+recipe(), "linux-6.12.117-congctl")
	place(t, path)
	want := Kernel{Path: path, Release: "6.12.117-congctl", Origin: "linux-source-6.12 0123456789ab-" + recipe()}
	if k, ok := Cached(cache); !ok || k != want {
		t.Errorf("%+v, want %+v", k, want)
	}
	// Then nothing is built.
	if k, err := Build(context.Background(), cache, func(step string) { t.Error(step) }); err != nil || k != want {
		t.Errorf("%+v, %v", k, err)
	}
}

func place(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestMissingNamesPackages(t *testing.T) {
	got := missing(func(name string) bool { return name != "pahole" && name != "/usr/include/libelf.h" })
	if !slices.Equal(got, []string{"dwarves", "libelf-dev"}) {
		t.Errorf("%q", got)
	}
}

func TestDroppedOptions(t *testing.T) {
	want := "# CONFIG_C is wanted off\nCONFIG_A=y\nCONFIG_B=y\nCONFIG_D=\"x\"\n# CONFIG_E is not set\n# CONFIG_F is not set\n"
	have := "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_D=\"y\"\nCONFIG_F=m\n"
	if got := dropped([]byte(want), []byte(have)); !slices.Equal(got, []string{"CONFIG_B=y", `CONFIG_D="x"`, "# CONFIG_F is not set"}) {
		t.Errorf("%q", got)
	}
}

// TestPatchesSayWhy: each begins with its reason, and names one file.
func TestPatchesSayWhy(t *testing.T) {
	names, err := fs.Glob(files, "patches/*.patch")
	if err != nil || len(names) < 3 {
		t.Fatalf("%q, %v", names, err)
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		why, diff, ok := strings.Cut(string(text), "\n\n--- a/")
		if !ok || len(why) < 40 || strings.Count("--- a/"+diff, "--- a/") != 1 {
			t.Errorf("%s: no reason before the diff, or more than one file", name)
		}
	}
}

// TestBuildStopsWithItsCaller and leaves nothing in the cache.
func TestBuildStopsWithItsCaller(t *testing.T) {
	if packages := missing(onThisHost); len(packages) > 0 {
		t.Skipf("needs %s, on any kernel", strings.Join(packages, " "))
	}
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Build(ctx, cache, func(string) { cancel() })
	left, _ := os.ReadDir(cache)
	if err == nil || len(left) > 0 {
		t.Errorf("%v, left %v", err, left)
	}
}

// TestFoldersOfKilledBuilds: what a killed build left goes when the next one begins, and the
// folder of one that lives stays.
func TestFoldersOfKilledBuilds(t *testing.T) {
	cache := t.TempDir()
	killed := filepath.Join(cache, ".uml-killed")
	if err := os.MkdirAll(filepath.Join(killed, "tree"), 0o755); err != nil {
		t.Fatal(err)
	}
	live, done, err := workFolder(cache)
	if err != nil {
		t.Fatal(err)
	}
	other, doneOther, err := workFolder(cache)
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{killed: false, live: true, other: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", dir, err, want)
		}
	}
	done()
	doneOther()
	if left, _ := os.ReadDir(cache); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
