package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// prose reads every page for people, by path from the root of the repository.
func prose(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	root := os.DirFS(docsRoot)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "dist", ".cache", "testdata", "node_modules"}, d.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".md"):
			return nil
		}
		src, err := fs.ReadFile(root, name)
		pages[name] = string(src)
		return err
	})
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	return pages
}

var (
	codeSpan  = regexp.MustCompile("`([^`\n]+)`")
	verbSpan  = regexp.MustCompile(`^(?:sudo )?congctl ([a-z]+)`)
	makeSpan  = regexp.MustCompile(`^(?:sudo )?make ([a-z-]+)$`)
	pathSpan  = regexp.MustCompile(`^(?:internal/)?(?:answer|arch|change|goodput|host|lab|linux|loop|popday|shape|simulate|tcp)/[\w./*-]+$|^(?:bpf|cmd|docs|etc|internal|tools|proto)/[\w./*-]+$`)
	testSpan  = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)[A-Z]\w*$`)
	linkSpan  = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	fencedAll = regexp.MustCompile("(?s)```.*?```")
)

// TestProseNamesWhatExists: verbs, make targets, files, tests and links that a
// page names are there. A map that is wrong is worse than none.
func TestProseNamesWhatExists(t *testing.T) {
	tests := testNames(t)
	for page, src := range prose(t) {
		for _, fault := range proseFaults(page, src, tests) {
			t.Errorf("%s: %s", page, fault)
		}
	}
}

func proseFaults(page, src string, tests map[string]bool) (faults []string) {
	for _, m := range codeSpan.FindAllStringSubmatch(fencedAll.ReplaceAllString(src, ""), -1) {
		switch span := m[1]; {
		case verbSpan.MatchString(span):
			if v := verbSpan.FindStringSubmatch(span)[1]; !slices.Contains(append(verbNames(), "completion", "help"), v) {
				faults = append(faults, "names the verb congctl "+v+", which there is not")
			}
		case makeSpan.MatchString(span):
			if err := checkTarget(makeSpan.FindStringSubmatch(span)[1]); err != nil {
				faults = append(faults, err.Error())
			}
		case testSpan.MatchString(span):
			if !tests[span] {
				faults = append(faults, "names the test "+span+", which there is not")
			}
		case pathSpan.MatchString(span):
			if !isThere(span) {
				faults = append(faults, "names "+span+", which is not there")
			}
		}
	}
	for _, m := range linkSpan.FindAllStringSubmatch(src, -1) {
		if !strings.Contains(m[1], "://") && !isThere(filepath.Join(filepath.Dir(page), m[1])) {
			faults = append(faults, "links to "+m[1]+", which is not there")
		}
	}
	return faults
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)

// testNames are all tests, fuzz targets and benchmarks of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	root := os.DirFS(docsRoot)
	for _, dir := range []string{"cmd", "internal", "proto", "tools"} {
		err := fs.WalkDir(root, dir, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, "_test.go") {
				return err
			}
			src, err := fs.ReadFile(root, name)
			for _, m := range testFunc.FindAllSubmatch(src, -1) {
				names[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// isThere looks a path up from the root, or below internal/ for a package's short name.
func isThere(path string) bool {
	for _, base := range []string{docsRoot, filepath.Join(docsRoot, "internal")} {
		if found, err := filepath.Glob(filepath.Join(base, path)); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

func TestProseFaultsAreFound(t *testing.T) {
	tests := testNames(t)
	for src, ok := range map[string]bool{
		"see `congctl rounds` and `make test`":                     true,
		"see `loop/policy/level.go`, `bpf/*.h`, `loop/kernel/cpu`": true,
		"[policy](docs/policy.md#guards)":                          true,
		"[the RFC](https://www.rfc-editor.org/rfc/rfc8032)":        true,
		"`congctl` alone":              true,
		"see `congctl nosuch`":         false,
		"see `sudo congctl nosuch up`": false,
		"see `make world`":             false,
		"see `loop/policy/nosuch.go`":  false,
		"[gone](docs/nosuch.md)":       false,
	} {
		if faults := proseFaults("README.md", src, tests); (len(faults) == 0) != ok {
			t.Errorf("%s: %q", src, faults)
		}
	}
}

// TestMapHasEveryPackage: a package that the map does not show is not found.
func TestMapHasEveryPackage(t *testing.T) {
	page := prose(t)["ARCHITECTURE.md"]
	found := map[string]bool{}
	root := os.DirFS(filepath.Join(docsRoot, "internal"))
	err := fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if dir := filepath.Dir(name); err == nil && strings.HasSuffix(name, ".go") && !found[dir] {
			found[dir] = true
			if !strings.Contains(page, "`"+dir+"`") {
				t.Errorf("ARCHITECTURE.md does not show %s", dir)
			}
		}
		return err
	})
	if err != nil || len(found) < 50 {
		t.Errorf("%d packages: the tree was not read: %v", len(found), err)
	}
}
