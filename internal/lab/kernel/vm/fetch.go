package vm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
)

// metaPackage depends on the newest cloud kernel of the Debian release: small, and
// with everything as modules.
const metaPackage = "linux-image-cloud-amd64"

// fetch downloads a kernel package and unpacks it into the cache; nothing is installed.
func fetch(ctx context.Context, cache string) (Kernel, error) {
	for _, tool := range []string{"apt-get", "apt-cache", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return Kernel{}, fmt.Errorf("fetch kernel: this host has no %s: name --kernel and --modules", tool)
		}
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Kernel{}, fmt.Errorf("fetch kernel: %w", err)
	}
	dir, err := os.MkdirTemp(cache, ".new-")
	if err != nil {
		return Kernel{}, fmt.Errorf("fetch kernel: %w", err)
	}
	defer os.RemoveAll(dir)
	name, err := download(ctx, dir)
	if err != nil {
		return Kernel{}, fmt.Errorf("fetch kernel: %w", err)
	}
	// Two processes may both get here: the first one's folder stays, the second finds it.
	if err := os.Rename(filepath.Join(dir, "tree"), filepath.Join(cache, name)); err != nil && !os.IsExist(err) {
		return Kernel{}, fmt.Errorf("fetch kernel: %w", err)
	}
	k, ok := newest(filepath.Join(cache, name), "fetched")
	if !ok {
		return Kernel{}, fmt.Errorf("fetch kernel: package %s has no kernel with %s: name --kernel and --modules", name, strings.Join(wanted, ", "))
	}
	return k, nil
}

// download leaves the unpacked package in dir/tree and names it. Its tools run in dir, so
// they are told names in dir: dir itself may be relative to another folder.
func download(ctx context.Context, dir string) (name string, err error) {
	out, err := command(ctx, dir, "apt-cache", "depends", metaPackage)
	if err != nil {
		return "", err
	}
	if name = firstDepends(out); name == "" {
		return "", fmt.Errorf("apt knows no %s: run apt-get update, or name --kernel and --modules", metaPackage)
	}
	args := []string{"download", "-qq", name}
	if me, err := user.Current(); err == nil {
		// Apt's own download user may not write here, and reports that on every download.
		args = append([]string{"-o", "APT::Sandbox::User=" + me.Username}, args...)
	}
	if _, err := command(ctx, dir, "apt-get", args...); err != nil {
		return "", err
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(debs) != 1 {
		return "", fmt.Errorf("apt-get download %s left %d packages", name, len(debs))
	}
	if _, err := command(ctx, dir, "dpkg-deb", "-x", filepath.Base(debs[0]), "tree"); err != nil {
		return "", err
	}
	return strings.TrimSuffix(filepath.Base(debs[0]), ".deb"), nil
}

// firstDepends reads the first dependency from what apt-cache depends prints.
func firstDepends(text string) string {
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: "); ok {
			return name
		}
	}
	return ""
}

func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("run %s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
