package distro

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/congctl/congctl/internal/lab/kernel/vm"
)

// Image returns the disk image of a fresh Debian with the modules of kernel: the one in
// cache, or a new one, which takes root, a mirror and a minute. tree is the repository's
// root. An image's name has a hash of its build script, so that a change makes a new one.
func Image(ctx context.Context, tree, cache string, kernel vm.Kernel) (string, error) {
	recipe, err := hashTree(filepath.Join(tree, "tools/debian-image.sh"), filepath.Join(tree, "tools/debian"))
	if err != nil {
		return "", fmt.Errorf("make image: %w", err)
	}
	image, err := filepath.Abs(filepath.Join(cache, fmt.Sprintf("debian-12-%s-%s.img", kernel.Release, recipe)))
	if err != nil {
		return "", fmt.Errorf("make image: %w", err)
	}
	if _, err := os.Stat(image); err == nil {
		return image, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("make image: %w", err)
	}
	build := exec.CommandContext(ctx, filepath.Join(tree, "tools/debian-image.sh"), kernel.Image, kernel.Modules, image)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make image: %w: %s", err, out)
	}
	return image, nil
}

// hashTree is a short hash of names and contents below roots.
func hashTree(roots ...string) (string, error) {
	sum := sha256.New()
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(filepath.Dir(root), path)
			if err != nil {
				return err
			}
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(sum, "%s %d\n%s", name, len(body), body)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("hash %s: %w", root, err)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), nil
}

// Copy makes a disk of an image. Its holes stay holes.
func Copy(ctx context.Context, image, disk string) error {
	if out, err := exec.CommandContext(ctx, "cp", "--sparse=always", "--reflink=auto", image, disk).CombinedOutput(); err != nil {
		return fmt.Errorf("copy image: %w: %s", err, out)
	}
	return nil
}
