package distro

import "strings"

// portFD is our socket in QEMU, after standard input, output and error.
const portFD = "3"

// args are QEMU's options. What each is for:
//
//   - cpu: without cx16, which QEMU 7.2 emulates wrongly.
//   - nvme: Debian's cloud kernel has this disk and ext4 built in, and so boots from it
//     without an initramfs.
//   - cache=unsafe: a flush of the guest does not become one of this host. To a guest
//     whose power is cut by the end of QEMU it is the same: what it has sent to the disk
//     is there, what it still held in memory is not.
//   - hubport: a network with nobody else on it. A card has a carrier, no packet leaves.
//   - addr: the slot, and so the card's name: enp0s4 and enp0s5.
//   - vmxnet3: of the cards that QEMU makes up by itself the only one with several queues:
//     one for each CPU. More threads would take a core each.
//   - virtserialport: what the guest is told to do, and its answers.
func (m Machine) args() []string {
	return []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-machine", "q35,usb=off,vmport=off,sata=off", "-accel", "tcg,thread=single", "-cpu", "qemu64,-svm,+rdrand", "-smp", "2", "-m", "512",
		"-kernel", m.Image, "-append", strings.Join(commandLine, " "),
		"-chardev", "file,id=console,append=on,path=" + m.Console, "-serial", "chardev:console",
		"-drive", "if=none,id=root,format=raw,cache=unsafe,file=" + m.Disk, "-device", "nvme,drive=root,serial=root",
		"-drive", "if=none,id=program,format=raw,readonly=on,file=" + m.Program, "-device", "virtio-blk-pci,drive=program",
		"-netdev", "hubport,id=live,hubid=0", "-device", "virtio-net-pci,netdev=live,mac=52:54:00:00:00:01,romfile=,addr=4",
		"-netdev", "hubport,id=many,hubid=1", "-device", "vmxnet3,netdev=many,mac=52:54:00:00:00:02,romfile=,addr=5",
		"-device", "virtio-serial-pci,addr=6", "-chardev", "socket,id=drive,fd=" + portFD, "-device", "virtserialport,chardev=drive,name=drive",
	}
}

// commandLine is the kernel's. It differs from a host's for speed in emulation, to make a
// panic end the machine, and for a boot on a host whose cores are shared: without
// no_timer_check it panics if no tick comes within 10 ms.
var commandLine = []string{
	"root=/dev/nvme0n1", "rw", "console=ttyS0", "loglevel=5", "panic=-1", "oops=panic",
	"mitigations=off", "no_timer_check", "tsc=reliable", "random.trust_cpu=on", "audit=0", "cryptomgr.notests=1", "init_on_alloc=0",
	"systemd.show_status=false",
}
