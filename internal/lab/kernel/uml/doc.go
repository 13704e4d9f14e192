// Package uml builds the kernel of the lab's fast world and keeps it in a cache: Linux as an
// ordinary program (User Mode Linux), from the distribution's source with a few patches
// (patches/, each with its reason), the options in config, and cubic_lt as a congestion control of its own.
//
// It boots nothing: lab/kernel/vm does, as it boots a stock kernel in QEMU.
//
// Its trap: a result is worth what its kernel's origin is. The name of a built kernel has the
// checksums of source, flags, options and patches. A kernel of other flags, options or patches never
// answers for this one; a newer source does not replace what is built: remove the folder for that.
package uml

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/linux/cubiclt"
)

//go:embed config patches/*.patch
var files embed.FS

// series is the kernel's release as the distribution's package has it.
const series = "6.12"

// Kernel is a built kernel.
type Kernel struct {
	Path    string // the program
	Release string // as uname -r says
	Origin  string // package and checksums, for results
}

// Cached returns a kernel in the cache that was built from this congctl's options and
// patches, if there is one.
func Cached(cache string) (Kernel, bool) {
	found, _ := filepath.Glob(filepath.Join(cache, "uml-*-"+recipe(), "linux-*"))
	if len(found) == 0 {
		return Kernel{}, false
	}
	return kernelAt(found[len(found)-1]), true
}

// kernelAt reads a kernel's facts from its path, uml-SOURCE-RECIPE/linux-RELEASE.
func kernelAt(path string) Kernel {
	return Kernel{
		Path:    path,
		Release: strings.TrimPrefix(filepath.Base(path), "linux-"),
		Origin:  "linux-source-" + series + " " + strings.TrimPrefix(filepath.Base(filepath.Dir(path)), "uml-"),
	}
}

// recipe is a checksum over the compiler's flags, options, patches and sources.
func recipe() string {
	sum := sha256.New()
	fmt.Fprintln(sum, flags)
	for _, name := range slices.Sorted(maps.Keys(cubiclt.KernelSource())) {
		fmt.Fprintf(sum, "%s\n%s", name, cubiclt.KernelSource()[name])
	}
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		panic(err) // embedded files can be read
	}
	return short(sum.Sum(nil))
}

// short is enough of a SHA-256 sum to tell builds apart: 48 bits.
func short(sum []byte) string { return hex.EncodeToString(sum[:6]) }
