package vm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/linux/plainfile"
)

// Kernel is a kernel to boot.
type Kernel struct {
	Image   string // bzImage, or a program
	Program bool   // User Mode Linux (lab/kernel/uml), which QEMU has no part in
	Modules string // .../lib/modules/RELEASE; "": all is built in
	Release string // as uname -r says
	Source  string // where it was found: given, host, cache, fetched
}

// Want is where to look for a kernel.
type Want struct {
	Image   string // this one and no other; Modules then too
	Modules string
	Builtin bool   // without Modules: all that is needed is in the image
	Cache   string // folder of unpacked kernel packages; "": congctl/kernels in the user's cache
	Fetch   bool   // get one from the distribution if there is none
}

// wanted are modules without which a kernel is of no use here.
var wanted = []string{"sch_netem", "tcp_bbr", "veth"}

// Find looks for a kernel: the requested one, the host's own, one in the cache, one from
// the distribution.
func Find(ctx context.Context, want Want) (Kernel, error) { return find(ctx, want, "/") }

func find(ctx context.Context, want Want, root string) (Kernel, error) {
	if want.Image != "" || want.Modules != "" {
		return given(want)
	}
	if k, ok := newest(root, "host"); ok {
		return k, nil
	}
	cache, err := Cache(want.Cache)
	if err != nil {
		return Kernel{}, err
	}
	want.Cache = cache
	if k, ok := cached(want.Cache); ok {
		return k, nil
	}
	if !want.Fetch {
		return Kernel{}, fmt.Errorf("find kernel: none with %s in /boot, nor in %s: %w", strings.Join(wanted, ", "), want.Cache, errNoKernel)
	}
	return fetch(ctx, want.Cache)
}

// Cache returns the folder of kernels: the given one, or congctl/kernels in the user's cache.
func Cache(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find kernel: %w; name a cache folder", err)
	}
	return filepath.Join(user, "congctl", "kernels"), nil
}

var errNoKernel = errors.New("apt-get install -y linux-image-cloud-amd64 installs one, or name --kernel and --modules")

func given(want Want) (Kernel, error) {
	if want.Image == "" || want.Modules == "" && !want.Builtin {
		return Kernel{}, fmt.Errorf("find kernel: image %q and modules %q: name both, or neither", want.Image, want.Modules)
	}
	release, err := releaseOf(want.Image)
	if err != nil {
		return Kernel{}, fmt.Errorf("find kernel: %w", err)
	}
	if want.Modules == "" {
		return Kernel{Image: want.Image, Release: release, Source: "given"}, nil
	}
	// Modules of another release load into no kernel; a build tree's folder may have any name.
	if base := filepath.Base(want.Modules); strings.Contains(want.Modules, "lib/modules/") && base != release {
		return Kernel{}, fmt.Errorf("find kernel: %s is release %s, the modules in %s are for %s", want.Image, release, want.Modules, base)
	}
	if _, err := findModules(want.Modules); err != nil {
		return Kernel{}, err
	}
	return Kernel{Image: want.Image, Modules: want.Modules, Release: release, Source: "given"}, nil
}

// cached looks through the unpacked packages of a cache.
func cached(cache string) (Kernel, bool) {
	packages, _ := filepath.Glob(filepath.Join(cache, "linux-image-*"))
	var all []Kernel
	for _, dir := range packages {
		if k, ok := newest(dir, "cache"); ok {
			all = append(all, k)
		}
	}
	return last(all)
}

// newest returns the newest kernel below root that can be read and has what is wanted.
func newest(root, source string) (Kernel, bool) {
	images, _ := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*"))
	var all []Kernel
	for _, image := range images {
		release, err := releaseOf(image)
		k := Kernel{Image: image, Modules: filepath.Join(root, "lib", "modules", release), Release: release, Source: source}
		if err == nil && k.usable() {
			all = append(all, k)
		}
	}
	return last(all)
}

func last(all []Kernel) (Kernel, bool) {
	if len(all) == 0 {
		return Kernel{}, false
	}
	return slices.MaxFunc(all, func(a, b Kernel) int { return compareReleases(a.Release, b.Release) }), true
}

func (k Kernel) usable() bool {
	all, err := findModules(k.Modules)
	builtin, _ := os.ReadFile(filepath.Join(k.Modules, "modules.builtin"))
	return err == nil && !slices.ContainsFunc(wanted, func(name string) bool {
		return all[name] == "" && !strings.Contains(string(builtin), "/"+name+".ko")
	})
}

// Offsets of a bzImage (Documentation/arch/x86/boot.rst).
const (
	bootMagicAt   = 0x202
	bootVersionAt = 0x20e
)

// releaseOf reads the release in a bzImage.
func releaseOf(image string) (string, error) {
	f, err := plainfile.Open(image)
	if err != nil {
		return "", fmt.Errorf("read kernel: %w", err)
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, err := f.Read(head)
	head = head[:n]
	if err != nil || n < bootVersionAt+2 || string(head[bootMagicAt:bootMagicAt+4]) != "HdrS" {
		return "", fmt.Errorf("read kernel %s: not a bzImage: name arch/x86/boot/bzImage of a build, or /boot/vmlinuz-RELEASE", image)
	}
	at := int(binary.LittleEndian.Uint16(head[bootVersionAt:])) + 0x200
	if at >= n {
		return "", fmt.Errorf("read kernel %s: its version is at %d, beyond the setup code", image, at)
	}
	text, _, _ := strings.Cut(string(head[at:]), "\x00")
	release, _, _ := strings.Cut(text, " ")
	if release == "" || strings.ContainsRune(release, '/') {
		return "", fmt.Errorf("read kernel %s: %q is not a release", image, release)
	}
	return release, nil
}
