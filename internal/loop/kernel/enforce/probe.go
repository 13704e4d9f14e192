package enforce

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/cgroup"
	"github.com/congctl/congctl/internal/linux/cubiclt"
	"github.com/congctl/congctl/internal/linux/privilege"
)

// Tier is how much of the loop this kernel can carry.
type Tier uint8

const (
	TierObserve Tier = iota // measure by polling, treat nothing
	TierGood                // everything but giving stolen callbacks back (5.15)
	TierFull                // everything (6.12)
)

var tierNames = [...]string{"observe", "good", "full"}

func (t Tier) String() string { return tierNames[t] }

// MarshalText prints the tier by name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// CanFollow reports whether the sock_ops program can run.
func (t Tier) CanFollow() bool { return t >= TierGood }

// Probe is what this kernel can do and why not more.
type Probe struct {
	Tier    Tier     `json:"tier"`
	Kernel  string   `json:"kernel"`
	Reasons []string `json:"reasons"`
	Cgroup  string   `json:"cgroup,omitempty"`
	// Available congestion controls (net.ipv4.tcp_available_congestion_control).
	Available []string `json:"available_congestion_control"`
}

// byRoutes is the last reason where the kernel cannot run congctl's program.
const byRoutes = "by routes it can treat what the plan of another host has: congctl plan export --format ip-route"

// HeldTo lowers the kernel's abilities to a configured tier; "" is the best.
func (p Probe) HeldTo(tier string) Probe {
	if tier == TierObserve.String() && p.Tier > TierObserve {
		p.Tier, p.Reasons = TierObserve, []string{"limited to it by the configuration; this kernel allows " + p.Tier.String()}
	}
	return p
}

// linuxVersion packs a.b.c as the kernel does (features.LinuxVersionCode).
func linuxVersion(a, b, c uint32) uint32 { return a<<16 | b<<8 | c }

// bpf_setsockopt(TCP_BPF_SOCK_OPS_CB_FLAGS) from an iterator
var v6_12 = linuxVersion(6, 12, 0)

// ProbeKernel probes the running kernel by trying, and by version where trying is
// impossible. treatment is the congestion control to switch to.
func ProbeKernel(treatment, cgroup string) (Probe, error) {
	p := Probe{Kernel: release(), Cgroup: cgroup}
	code, err := features.LinuxVersionCode()
	if err != nil {
		return p, fmt.Errorf("probe kernel: %w", err)
	}
	list, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return p, fmt.Errorf("probe kernel: %w", err)
	}
	p.Available = strings.Fields(string(list))
	if !slices.Contains(p.Available, treatment) {
		p.say(TierObserve, "congestion control %q is not available; %s", treatment, howToHave(treatment))
		return p, nil
	}
	return p, p.probeBPF(code)
}

func howToHave(treatment string) string {
	if treatment == cubiclt.Name {
		return "congctl registers it where the kernel can, Linux 6.4 and later; its log says what failed"
	}
	return "load it: modprobe tcp_" + treatment
}

func (p *Probe) say(t Tier, format string, args ...any) {
	p.Tier = t
	p.Reasons = append(p.Reasons, fmt.Sprintf(format, args...))
}

func (p *Probe) probeBPF(code uint32) error {
	if p.Cgroup == "" {
		root, err := cgroup.Root()
		if errors.Is(err, cgroup.ErrNone) {
			p.say(TierObserve, "%v", err)
			return nil
		} else if err != nil {
			return err
		}
		p.Cgroup = root
	}
	have, err := privilege.Effective()
	if err != nil {
		return err
	}
	if lacks := lacking(have); lacks != 0 {
		p.say(TierObserve, "no eBPF without %s: run as root, or grant it (kernel %s was not asked further)", lacks, p.Kernel)
		return nil
	}
	for _, h := range []struct {
		fn          asm.BuiltinFunc
		name, since string
	}{
		{asm.FnSkStorageGet, "bpf_sk_storage_get", "5.3"}, {asm.FnRingbufReserve, "bpf_ringbuf_reserve", "5.8"},
		{asm.FnSkcToTcpSock, "bpf_skc_to_tcp_sock", "5.9"}, {asm.FnGetNetnsCookie, "bpf_get_netns_cookie", "5.15"},
	} {
		switch err := features.HaveProgramHelper(ebpf.SockOps, h.fn); {
		case err == nil:
		case errors.Is(err, os.ErrPermission):
			p.say(TierObserve, "no permission to load eBPF, for all its capabilities: a user namespace, a security module or seccomp forbids it")
			return nil
		case errors.Is(err, ebpf.ErrNotSupported):
			p.say(TierObserve, "this kernel's sock_ops programs lack %s (Linux %s): use Linux 5.15 or later", h.name, h.since)
			p.Reasons = append(p.Reasons, byRoutes)
			return nil
		default:
			return fmt.Errorf("probe %s: %w", h.name, err)
		}
	}
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		p.say(TierObserve, "no kernel type information at /sys/kernel/btf/vmlinux: use a kernel with CONFIG_DEBUG_INFO_BTF, Linux 5.15 or later")
		p.Reasons = append(p.Reasons, byRoutes)
		return nil
	}
	if !haveIterators() {
		p.say(TierGood, "sock_ops, marks and close records; callbacks stolen by another program are neither seen nor given back, for want of iterators (CONFIG_BPF_EVENTS)")
		return nil
	}
	if code < v6_12 {
		p.say(TierGood, "sock_ops, marks and close records; callbacks stolen by another program are seen but not given back (Linux 6.12)")
		return nil
	}
	p.say(TierFull, "sock_ops, marks, close records, and an iterator that gives stolen callbacks back")
	return nil
}

func release() string {
	var u unix.Utsname
	_ = unix.Uname(&u) // cannot fail with a buffer of ours
	return unix.ByteSliceToString(u.Release[:])
}
