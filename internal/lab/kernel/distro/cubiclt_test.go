package distro

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDebianCubicLT: on Debian's 6.12 `host enable cubic_lt` makes it the default of every connection. Power is cut; the unit does the
// same again at boot, and `host disable` leaves nothing.
func TestDebianCubicLT(t *testing.T) {
	m := newer(t)
	r := up(t, m)
	must(t, r, installProgram)
	before := stateOf(t, r)
	wantCongestionControl(t, r, "cubic")

	must(t, r, "congctl host enable cubic_lt")
	wantCongestionControl(t, r, "cubic_lt")
	r = powerCut(t, m, r)
	must(t, r, "systemctl is-active congctl-cubic_lt && ls /sys/fs/bpf/congctl_cubic_lt")
	wantCongestionControl(t, r, "cubic_lt")
	wantQueues(t, r, "pfifo_fast")

	must(t, r, "congctl host disable && ! ls /sys/fs/bpf/congctl_cubic_lt && ! systemctl cat congctl-cubic_lt")
	wantCongestionControl(t, r, "cubic")
	wantState(t, r, before)
}

// newer returns a Debian with the kernel of CONGCTL_STRUCT_OPS_KERNEL in place of its own, whose modules go into its disk.
func newer(t *testing.T) Machine {
	t.Helper()
	kernel := os.Getenv("CONGCTL_STRUCT_OPS_KERNEL")
	if kernel == "" {
		t.Skip("needs CONGCTL_STRUCT_OPS_KERNEL, a folder of tools/struct-ops-kernel.sh, and CONGCTL_DEBIAN_CACHE; minimum kernel of the guest 6.4")
	}
	images, err := filepath.Glob(filepath.Join(kernel, "boot/vmlinuz-6.*"))
	if err != nil || len(images) != 1 {
		t.Fatalf("kernels of %s: %v %v", kernel, images, err)
	}
	if indexes, err := filepath.Glob(filepath.Join(kernel, "lib/modules/*/modules.dep")); err != nil || len(indexes) != 1 {
		t.Fatalf("indexes of modules in %s, which depmod makes: %v %v", kernel, indexes, err)
	}
	m := machine(t, program)
	m.Image = images[0]
	carry(t, filepath.Join(kernel, "lib/modules"), "/usr/lib/modules", m.Disk)
	return m
}

// carry copies a folder into a disk.
func carry(t *testing.T, from, to, disk string) {
	t.Helper()
	var script strings.Builder
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		at := to + strings.TrimPrefix(path, from)
		switch {
		case err != nil || path == from:
		case d.IsDir():
			fmt.Fprintf(&script, "mkdir %s\n", at)
		case d.Type().IsRegular():
			fmt.Fprintf(&script, "write %s %s\n", path, at)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	write := exec.Command("debugfs", "-w", "-f", "-", disk)
	write.Stdin = strings.NewReader(script.String())
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("write modules into the disk: %v: %s", err, out)
	}
}
