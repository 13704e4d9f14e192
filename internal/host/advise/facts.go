package advise

// Facts is what was read about a host at one time, without any judgement.
type Facts struct {
	System  System
	Kernel  Kernel
	Modules map[string]Module // those that BBR and pacing can need

	// Sysctl has the live values by their dotted names ("net.ipv4.tcp_congestion_control"),
	// of the network namespace that was looked at. Keys lists those that are read.
	Sysctl map[string]Known[string]
	// Cong is the two lists of congestion controls, and the one in force.
	Cong Cong

	Links   Known[[]Link] // of this network namespace
	Sockets Known[Sockets]
	// Spaces are the other network namespaces that could be entered.
	Spaces Known[[]Space]

	// Files are the texts that decide the host's state after a boot: sysctl.d,
	// modules-load.d, modprobe.d, networkd, NetworkManager, tuned.
	Files Files
	// Writers are other texts that a boot reads or runs and that speak of such a setting, in no
	// known order: units, tmpfiles.d, cron and more.
	Writers Files

	CPU  CPU
	Loop Loop
}

// Known is a value, or the reason why it is unknown.
type Known[T any] struct {
	Value T
	Why   string // "" when Value is known: "permission denied: needs root", "no such file"
}

// Know returns a known value.
func Know[T any](v T) Known[T] { return Known[T]{Value: v} }

// Unknown returns an unknown one with the reason.
func Unknown[T any](why string) Known[T] { return Known[T]{Why: why} }

// OK reports whether the value is known.
func (k Known[T]) OK() bool { return k.Why == "" }

// No reports whether k is known, and false.
func No(k Known[bool]) bool { return k.OK() && !k.Value }

// System is what runs on the kernel, and what this program may do there.
type System struct {
	Distro Distro
	// Init is the first process's kind: "systemd", "none" (a container whose first process is an
	// application), or the name of another one ("openrc", "sysvinit", "runit").
	Init string
	// Applies: systemd-sysctl sets sysctls at boot. Of another init it is unknown.
	Applies Known[bool]
	// Script is what systemd runs at the end of a boot: RCLocal or RCLocalRedHat; "" for neither.
	Script string
	// Busybox: the program sysctl is busybox's, which reads files in its own way.
	Busybox bool
	// Container is its kind ("docker", "podman", "lxc", "systemd-nspawn", "kubernetes",
	// "container"), "" for none.
	Container string
	UID       int
	Caps      Caps // effective ones of this program
	// InitUserNS: this program is in the first user namespace. Elsewhere its capabilities do not cover
	// modules or anything outside its namespace.
	InitUserNS Known[bool]
	// InitNetNS: this program is in the first network namespace, the only one that has default_qdisc.
	InitNetNS Known[bool]
	// ProcSysReadOnly: /proc/sys is mounted read-only, as container engines do.
	ProcSysReadOnly Known[bool]
	Cgroup2         string // where cgroup2 is mounted, "" if it is not
}

// Foreign reports whether another init than systemd boots this host.
func (s System) Foreign() bool { return s.Init != "systemd" && s.Init != "none" }

// OnlySystemd returns the reason why congctl neither knows what an init other than systemd does at boot nor writes files for it.
func OnlySystemd(init string) string {
	found := "this host's init is " + init
	if init == "none" {
		found = "no init runs here"
	}
	return found + ", and congctl reads and writes the boot files of systemd only"
}

// Distro is from os-release; empty without one.
type Distro struct {
	ID      string // "debian", "ubuntu", "amzn", "alpine", "poky"
	Like    string // ID_LIKE
	Version string // VERSION_ID
	Name    string // PRETTY_NAME
}

// Caps are the capabilities that matter here.
type Caps struct{ NetAdmin, SysModule bool }

// Kernel is the running one.
type Kernel struct {
	Release string // "6.1.0-18-amd64"
	Arch    string // "x86_64"
	// Config has the options that are set, without CONFIG_ ("TCP_CONG_BBR": "m"). Unset
	// options have no key.
	Config Known[map[string]string]
	From   string // where Config was read: "/proc/config.gz", "/boot/config-6.1.0-18-amd64"
	BTF    bool   // /sys/kernel/btf/vmlinux exists
	// Congs are the names of all congestion controls that it has, registered or not yet; empty if
	// unknown.
	Congs []string
	// Cmdline is the command line that it was booted with.
	Cmdline string
}

// ModuleState is how a module is available.
type ModuleState string

// States of a module.
const (
	ModuleBuiltin  ModuleState = "builtin"
	ModuleLoaded   ModuleState = "loaded"
	ModuleLoadable ModuleState = "loadable" // its file is below /lib/modules
	ModuleAbsent   ModuleState = "absent"
)

// Module is one that BBR or pacing may need.
type Module struct {
	State   Known[ModuleState]
	Version string // of /sys/module/NAME/version; most modules have none
}

// Cong is a network namespace's congestion controls.
type Cong struct {
	Available Known[[]string] // registered now; a loadable module is not among them
	Allowed   Known[[]string] // for programs without CAP_NET_ADMIN
	Current   Known[string]   // of new connections
}

// Link is a network interface with its qdiscs.
type Link struct {
	Name     string
	Kind     string // of rtnetlink: "veth", "bridge", "dummy"; "" for a plain device
	Hardware bool   // it has a device below /sys/class/net/NAME/device, as virtual NICs of a hypervisor do
	Loopback bool
	Up       bool
	TxQueues int // 0: unknown
	SpeedMb  int // megabits per second; 0: unknown
	Qdiscs   []Qdisc
	Segments Known[bool] // segmentation is offloaded: tso or gso
}

// Qdisc is one of a link's tree.
type Qdisc struct {
	Kind           string
	Handle, Parent uint32 // as the kernel has them: major<<16 | minor; Parent is ParentRoot, ParentIngress, or a class
	Packets        uint64
	Lost           bool // somebody gave it what the kernel reports and does not take back
	// FlowsPlimit is fq's count of packets dropped because one flow had too many in the queue.
	FlowsPlimit uint64
}

// Parents of qdiscs that hang on the link itself (TC_H_ROOT, TC_H_INGRESS).
const (
	ParentRoot    = uint32(0xffffffff)
	ParentIngress = uint32(0xfffffff1)
)

// Root returns the link's own qdisc; ok is false for a link without one.
func (l Link) Root() (q Qdisc, ok bool) {
	for _, q := range l.Qdiscs {
		if q.Parent == ParentRoot {
			return q, true
		}
	}
	return Qdisc{}, false
}

// Leaves returns the qdiscs that packets wait in: the root itself, or the children of an mq
// or mqprio root.
func (l Link) Leaves() []Qdisc {
	root, ok := l.Root()
	if !ok {
		return nil
	}
	if root.Kind != "mq" && root.Kind != "mqprio" {
		return []Qdisc{root}
	}
	return l.Below(root.Handle)
}

// Below returns the children of a qdisc. The kernel gives the leaves of a default mq the
// parent 0:N, since mq itself then has the handle 0:.
func (l Link) Below(handle uint32) (children []Qdisc) {
	for _, q := range l.Qdiscs {
		if q.Parent != ParentRoot && q.Parent != ParentIngress && q.Parent&0xffff0000 == handle&0xffff0000 && q.Parent != 0 {
			children = append(children, q)
		}
	}
	return children
}

// Sockets counts this network namespace's live connections except loopback ones.
type Sockets struct {
	ByCong map[string]int // established connections by congestion control
	// Paced counts those of BBR that report a pacing rate, and Unpaced the others of BBR.
	Paced, Unpaced int
	// Samples are a few connections to show, those of BBR first.
	Samples []Socket
}

// Socket is one connection as evidence.
type Socket struct {
	Local       string `json:"local"` // address:port
	Remote      string `json:"remote"`
	Cong        string `json:"cong"`
	State       string `json:"state"`                   // of BBR; "" for any other congestion control
	PacingRate  uint64 `json:"pacing_rate_bytes_per_s"` // 0 or all ones: none
	RttUs       uint32 `json:"rtt_us"`
	CwndSegment uint32 `json:"cwnd_segments"`
}

// Space is another network namespace.
type Space struct {
	Name    string
	Current string // congestion control of new connections
}

// CPU is how much of its processors the host gets.
type CPU struct {
	CPUs int
	// StealShare is the hypervisor's share of all CPU time since boot, 0 to 1.
	StealShare Known[float64]
	// RunQueue is the load over the last minute for each CPU (/proc/loadavg).
	RunQueue Known[float64]
	// Pressure is the share of the last minute in which a task waited for a CPU, 0 to 1.
	Pressure Known[float64]
}

// Loop is what `congctl up` finds on this kernel.
type Loop struct {
	Tier    Known[string] // "full", "good", "observe"
	Reasons []string
	// Others are loaded sock_ops programs other than ours.
	Others Known[[]Program]
}

// Program is an eBPF program.
type Program struct {
	ID   uint32
	Name string
}
