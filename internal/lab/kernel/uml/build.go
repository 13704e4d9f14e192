package uml

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/congctl/congctl/internal/linux/cubiclt"
)

// needs are what a build takes, and the packages that have it.
var needs = []struct{ name, in string }{
	{"gcc", "gcc"}, {"make", "make"}, {"flex", "flex"}, {"bison", "bison"}, {"bc", "bc"}, {"patch", "patch"},
	{"strip", "binutils"}, {"tar", "tar"}, {"xz", "xz-utils"}, {"pahole", "dwarves"}, {"python3", "python3"},
	{"/usr/include/libelf.h", "libelf-dev"}, {"/usr/include/stdio.h", "libc6-dev"},
}

// missing names the packages that a build needs and this host has not.
func missing(has func(name string) bool) (packages []string) {
	for _, n := range needs {
		if !has(n.name) {
			packages = append(packages, n.in)
		}
	}
	return packages
}

func onThisHost(name string) bool {
	if strings.HasPrefix(name, "/") {
		_, err := os.Stat(name)
		return err == nil
	}
	_, err := exec.LookPath(name)
	return err == nil
}

// Build builds the kernel into the cache, unless it is there, and returns it. It takes about
// four minutes on two cores and 0.8 GB of disk, which it gives back. It needs no root. The steps
// are reported through say.
func Build(ctx context.Context, cache string, say func(step string)) (Kernel, error) {
	if k, ok := Cached(cache); ok {
		return k, nil
	}
	if runtime.GOARCH != "amd64" {
		return Kernel{}, fmt.Errorf("build kernel: User Mode Linux runs on amd64, this host is %s: use --world vm", runtime.GOARCH)
	}
	if packages := missing(onThisHost); len(packages) > 0 {
		return Kernel{}, fmt.Errorf("build kernel: this host lacks %s: apt-get install -y %[1]s", strings.Join(packages, " "))
	}
	k, err := build(ctx, cache, say)
	if err != nil {
		return k, fmt.Errorf("build kernel: %w", err)
	}
	return k, nil
}

func build(ctx context.Context, cache string, say func(string)) (Kernel, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Kernel{}, err
	}
	dir, done, err := workFolder(cache)
	if err != nil {
		return Kernel{}, err
	}
	defer done()
	say("unpacking linux-source-" + series)
	source, err := unpack(ctx, dir)
	if err != nil {
		return Kernel{}, err
	}
	tree := filepath.Join(dir, "tree")
	if err := configure(ctx, tree); err != nil {
		return Kernel{}, err
	}
	say(fmt.Sprintf("compiling on %d CPUs", runtime.NumCPU()))
	if _, err := run(ctx, tree, nil, "make", "ARCH=um", "--silent", "KCFLAGS="+flags, "HOSTCFLAGS="+flags, fmt.Sprintf("-j%d", runtime.NumCPU()), "linux"); err != nil {
		return Kernel{}, err
	}
	release, err := run(ctx, tree, nil, "make", "ARCH=um", "--silent", "kernelrelease")
	if err != nil {
		return Kernel{}, err
	}
	built := filepath.Join(dir, "uml-"+source+"-"+recipe())
	program := filepath.Join(built, "linux-"+strings.TrimSpace(release))
	if err := os.Mkdir(built, 0o755); err != nil {
		return Kernel{}, err
	}
	if _, err := run(ctx, tree, nil, "strip", "--strip-debug", "-o", program, "linux"); err != nil {
		return Kernel{}, err
	}
	// Two processes may both get here: the first one's folder stays.
	kept := filepath.Join(cache, filepath.Base(built))
	if err := os.Rename(built, kept); err != nil && !errors.Is(err, fs.ErrExist) {
		return Kernel{}, err
	}
	return kernelAt(filepath.Join(kept, filepath.Base(program))), nil
}

// flags make the compiler do less: a day runs as fast at -O1. Debug information is for BTF alone, so patches turn it on again only
// where the types and functions are that programs ask for, and no debugger needs to know where a variable is at each instruction.
// resolve_btfids warns of the rest, for which only tracing programs ask.
const flags = "-O1 -g0 -fno-var-tracking -fno-var-tracking-assignments"

// workFolder makes a folder to build in, and removes those of builds that were killed: done
// could not. A build holds a lock on its own as long as it lives.
func workFolder(cache string) (dir string, done func(), err error) {
	const prefix = ".uml-"
	// Between making a folder and locking it another build could take it for a killed one's.
	all, err := lock(cache, syscall.LOCK_EX)
	if err != nil {
		return "", nil, fmt.Errorf("lock %s: %w", cache, err)
	}
	defer all.Close()
	old, _ := filepath.Glob(filepath.Join(cache, prefix+"*"))
	for _, left := range old {
		if f, err := lock(left, syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			os.RemoveAll(left)
			f.Close()
		}
	}
	if dir, err = os.MkdirTemp(cache, prefix); err != nil {
		return "", nil, err
	}
	f, err := lock(dir, syscall.LOCK_EX)
	if err != nil {
		return "", nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return dir, func() { os.RemoveAll(dir); f.Close() }, nil
}

// lock locks a folder until the returned file is closed or this process ends.
func lock(dir string, how int) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// unpack puts the kernel's source into dir/tree, and returns the checksum of its archive.
func unpack(ctx context.Context, dir string) (source string, err error) {
	archive, err := archive(ctx, dir)
	if err != nil {
		return "", err
	}
	f, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read %s: %w", archive, err)
	}
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return "", err
	}
	args := []string{"-xf", archive, "--strip-components=1"}
	for _, part := range uncompiled {
		args = append(args, "--exclude="+part)
	}
	_, err = run(ctx, tree, nil, "tar", args...)
	return short(sum.Sum(nil)), err
}

// uncompiled are parts of the source that no option of the lab's kernel compiles: three quarters of the files.
// Kconfig files and Makefiles stay: configuring reads them all.
var uncompiled = []string{
	"Documentation/*.*", "samples/*.*", "security/*/*.[ch]", "sound/*.*", "tools/[n-pt-v]*/*.*", "*.dts*",
	"arch/[a-t]*/*.[chS]", "drivers/[ad-mo-su-z]*/*.[ch]", "drivers/c[l-z]*/*.[ch]", "drivers/net/[d-z]*/*.[ch]", "fs/[a-dg-jlmoqt-z]*/*.[ch]",
}

// archive finds the installed source package's archive, or downloads the package into dir.
func archive(ctx context.Context, dir string) (string, error) {
	const name = "linux-source-" + series
	installed := "/usr/src/" + name + ".tar.xz"
	if onThisHost(installed) {
		return installed, nil
	}
	args := []string{"download", "-qq", name}
	if me, err := user.Current(); err == nil {
		// Apt's own download user may not write here, and reports that on every download.
		args = append([]string{"-o", "APT::Sandbox::User=" + me.Username}, args...)
	}
	if _, err := run(ctx, dir, nil, "apt-get", args...); err != nil {
		return "", fmt.Errorf("%w; does apt know %s? run apt-get update", err, name)
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(debs) != 1 {
		return "", fmt.Errorf("apt-get download %s left %d packages", name, len(debs))
	}
	_, err = run(ctx, dir, nil, "dpkg-deb", "-x", debs[0], "package")
	return filepath.Join(dir, "package", installed), err
}

// configure patches the tree and gives it the options. An option that the build drops, for
// a dependency that is not met, is an error.
func configure(ctx context.Context, tree string) error {
	patches, err := fs.Glob(files, "patches/*.patch") // sorted
	if err != nil {
		return err
	}
	for _, name := range patches {
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := run(ctx, tree, text, "patch", "-p1", "--fuzz=0", "--batch"); err != nil {
			return fmt.Errorf("apply %s: %w", filepath.Base(name), err)
		}
	}
	for name, text := range cubiclt.KernelSource() {
		if err := os.WriteFile(filepath.Join(tree, "net", "ipv4", name), text, 0o644); err != nil {
			return fmt.Errorf("add %s: %w", name, err)
		}
	}
	want, err := files.ReadFile("config")
	if err != nil {
		return err
	}
	config := filepath.Join(tree, ".config")
	if err := os.WriteFile(config, want, 0o644); err != nil {
		return err
	}
	if _, err := run(ctx, tree, nil, "make", "ARCH=um", "--silent", "olddefconfig"); err != nil {
		return err
	}
	have, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	if lost := dropped(want, have); len(lost) > 0 {
		return fmt.Errorf("configure: linux-source-%s does not take %s", series, strings.Join(lost, ", "))
	}
	return nil
}

// dropped are the lines of want that have is not as.
func dropped(want, have []byte) (lost []string) {
	lines := strings.Split(string(have), "\n")
	for line := range strings.Lines(string(want)) {
		line = strings.TrimSpace(line)
		off, isOff := strings.CutSuffix(line, " is not set")
		off = strings.TrimPrefix(off, "# ")
		switch {
		case strings.HasPrefix(line, "CONFIG_") && !slices.Contains(lines, line),
			isOff && slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, off+"=") }):
			lost = append(lost, line)
		}
	}
	return lost
}

// environment is what the tools see: no MAKEFLAGS, KCFLAGS or CROSS_COMPILE of the caller, and
// the same time and names in each build.
func environment() []string {
	env := []string{"LC_ALL=C", "KBUILD_BUILD_TIMESTAMP=2026-01-01", "KBUILD_BUILD_USER=congctl", "KBUILD_BUILD_HOST=congctl"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "http_proxy", "https_proxy", "no_proxy"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// shownBytes of a tool's output are enough for a compiler's last errors.
const shownBytes = 2000

func run(ctx context.Context, dir string, stdin []byte, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdin, cmd.Env = dir, bytes.NewReader(stdin), environment()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// Make's own children end with it, and do not write into a folder that is being removed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(stdout.String() + stderr.String())
		return "", fmt.Errorf("run %s %s: %w: %s", name, strings.Join(args, " "), err, text[max(0, len(text)-shownBytes):])
	}
	return stdout.String(), nil
}
