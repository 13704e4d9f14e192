package vm

import (
	"bufio"
	"fmt"
	"io"
)

// WriteInitramfs writes the files of a guest's first file system: /dev/console, the
// modules named in load with those that they need, and what fill adds. It returns the
// modules that the kernel does not have: without a folder of modules, all.
//
// Nothing is compressed: the guest would pay for it at every boot, instruction by
// instruction.
func WriteInitramfs(w io.Writer, modules string, load []string, fill func(*Archive) error) (missing []string, err error) {
	buffered := bufio.NewWriterSize(w, 1<<20)
	a := &Archive{w: buffered}
	// The kernel opens /dev/console for the first process before anything is mounted.
	a.entry("dev", modeDir|0o755, 0, 0, nil)
	a.entry("dev/console", modeChar|0o600, 5, 1, nil)
	// The eBPF library looks for mounts when the program is initialised, and never again:
	// a missing file is an error that it remembers, an empty one means that there are no
	// mounts yet. The first process mounts over it.
	a.entry("proc", modeDir|0o755, 0, 0, nil)
	a.entry("proc/self", modeDir|0o755, 0, 0, nil)
	a.File("proc/self/mountinfo", 0o444, nil)
	missing, err = a.modules(modules, load)
	if err == nil {
		err = fill(a)
	}
	if err == nil {
		err = a.end()
	}
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return nil, fmt.Errorf("write initramfs: %w", err)
	}
	return missing, nil
}

// modules writes the modules under names that sort as they must load.
func (a *Archive) modules(dir string, load []string) (missing []string, err error) {
	a.entry("modules", modeDir|0o755, 0, 0, nil)
	if dir == "" || len(load) == 0 {
		return load, nil
	}
	all, err := findModules(dir)
	if err != nil {
		return nil, err
	}
	order, missing, err := all.order(load, all.needs)
	if err != nil {
		return nil, err
	}
	for i, name := range order {
		b, err := all.read(name)
		if err != nil {
			return nil, err
		}
		a.File(fmt.Sprintf("modules/%02d-%s.ko", i, name), 0o644, unsigned(b))
	}
	return missing, nil
}
