package arch

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// rule is one sentence about the tree, with the faults that prove it is watched.
type rule struct {
	name  string
	check func([]*file) []string

	// planted maps a path to a file that must give at least one fault when it is
	// alone in the tree; clean ones must give none, all together.
	planted []plant
	clean   []plant
}

type plant struct{ path, src string }

func rules() []rule {
	return []rule{
		importRule, arrowRule, clockRule, fileSizeRule, funcSizeRule, packageDocRule,
		nameRule, machinePathRule, errorTextRule, skipReasonRule, rootTestRule,
	}
}

// TestShape runs every rule over this repository.
func TestShape(t *testing.T) {
	files, err := load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if n := countGo(files); n < 10 {
		t.Fatalf("found %d Go files: the tree was not read", n)
	}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			for _, fault := range r.check(files) {
				t.Error(fault)
			}
		})
	}
}

// TestPlantedFaults proves that each rule can fail, and that it does not
// always fail.
func TestPlantedFaults(t *testing.T) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			if len(r.planted) == 0 || len(r.clean) == 0 {
				t.Fatal("rule without planted faults and a clean sample")
			}
			for _, p := range r.planted {
				if got := r.check(loadPlants(t, p)); len(got) == 0 {
					t.Errorf("not found in %s:\n%s", p.path, p.src)
				} else if !strings.HasPrefix(got[0], p.path+":") {
					t.Errorf("fault %q does not name %s", got[0], p.path)
				}
			}
			for _, fault := range r.check(loadPlants(t, r.clean...)) {
				t.Errorf("clean sample refused: %s", fault)
			}
		})
	}
}

func loadPlants(t *testing.T, plants ...plant) []*file {
	t.Helper()
	tree := fstest.MapFS{}
	for _, p := range plants {
		tree[p.path] = &fstest.MapFile{Data: []byte(p.src)}
	}
	files, err := load(tree)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func countGo(files []*file) (n int) {
	goFiles(files, func(*file) { n++ })
	return n
}
