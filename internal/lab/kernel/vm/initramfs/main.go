// Command initramfs writes the initramfs of a test machine: the files below a directory,
// and the requested kernel modules with those that they need.
//
// It boots nothing: tools/vm.sh prepares the directory and starts QEMU, and
// tools/vm/guest is the first process inside.
//
// Its trap: an unpacked kernel package has no modules.dep (depmod writes that at
// installation), so the order of loading comes from the modules themselves.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/congctl/congctl/internal/lab/kernel/vm"
)

func main() {
	root := flag.String("root", "", "directory that becomes the root file system")
	modules := flag.String("modules", "", "directory of the kernel's modules (lib/modules/RELEASE)")
	load := flag.String("load", "", "modules to load, separated by commas; one that the kernel does not have is named and left out")
	out := flag.String("out", "", "initramfs to write (cpio, newc)")
	flag.Parse()
	if err := run(*root, *modules, strings.Split(*load, ","), *out); err != nil {
		fmt.Fprintln(os.Stderr, "initramfs:", err)
		os.Exit(1)
	}
}

func run(root, modules string, load []string, out string) error {
	f, err := os.Create(out)
	if err != nil {
		return fmt.Errorf("write initramfs: %w", err)
	}
	missing, err := vm.WriteInitramfs(f, modules, load, func(a *vm.Archive) error { return a.Tree(root) })
	if len(missing) > 0 {
		fmt.Fprintln(os.Stderr, "initramfs: not modules of this kernel (built in, or not there):", missing)
	}
	return errors.Join(err, f.Close())
}
