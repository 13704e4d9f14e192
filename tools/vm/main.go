// Command vm writes the initramfs of a test machine: the files below a directory,
// and the kernel modules asked for with those that they need.
//
// It boots nothing: tools/vm.sh prepares the directory and starts QEMU, and
// tools/vm/guest is the first process inside.
//
// Its trap: an unpacked kernel package has no modules.dep (depmod writes that at
// installation), so the order of loading comes from the modules themselves.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	root := flag.String("root", "", "directory that becomes the root file system")
	modules := flag.String("modules", "", "directory of the kernel's modules (lib/modules/RELEASE)")
	load := flag.String("load", "", "modules to load, separated by commas; one that the kernel does not have is named and left out")
	out := flag.String("out", "", "initramfs to write (cpio, newc)")
	flag.Parse()
	if err := run(*root, *modules, strings.Split(*load, ","), *out); err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(1)
	}
}

func run(root, modules string, load []string, out string) error {
	all, err := findModules(modules)
	if err != nil {
		return err
	}
	order, missing, err := all.order(load, all.needs)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		fmt.Fprintln(os.Stderr, "vm: not modules of this kernel (built in, or not there):", missing)
	}
	f, err := os.Create(out)
	if err != nil {
		return fmt.Errorf("write initramfs: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(pack(w, root, order, all), w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write initramfs %s: %w", out, err)
	}
	return nil
}

// pack writes the tree, and the modules under names that sort as they must load.
func pack(w *bufio.Writer, root string, order []string, all kernelModules) error {
	a := &archive{w: w}
	// The kernel opens /dev/console for the first process before anything is mounted.
	a.entry("dev", modeDir|0o755, 0, 0, nil)
	a.entry("dev/console", modeChar|0o600, 5, 1, nil)
	a.entry("modules", modeDir|0o755, 0, 0, nil)
	for i, name := range order {
		b, err := all.read(name)
		if err != nil {
			return err
		}
		a.entry(fmt.Sprintf("modules/%02d-%s.ko", i, name), modeFile|0o644, 0, 0, b)
	}
	if err := a.tree(root); err != nil {
		return err
	}
	return a.end()
}
