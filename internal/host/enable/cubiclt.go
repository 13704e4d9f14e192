package enable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/host/advise"
)

// CubicLT is cubic_lt on a host (docs/cubic-lt.md).
type CubicLT struct {
	Name  string
	Pin   string // where its program is pinned in bpffs
	Lacks string // what this kernel lacks for it; "": nothing
	Taken bool   // another process has registered the name
	// Program is the path of congctl, which a unit of systemd starts at each boot; "" with NoProgram, which says why not.
	Program, NoProgram string
}

const (
	unitName = "congctl-cubic_lt.service"
	// CubicLTUnit is the unit of a boot.
	CubicLTUnit = "/etc/systemd/system/" + unitName
	// wantFile adds to a target without a symbolic link (systemd.unit(5), "Drop-in files").
	wantFile = "/etc/systemd/system/multi-user.target.d/congctl-cubic_lt.conf"

	ltMark = "# Written by \"congctl host enable cubic_lt\"; \"congctl host disable\" takes it back.\n"
	// No sysctl.d: systemd applies that before any unit has registered the name. Connections that are accepted later have the default of
	// their time, whatever the listener's was (tcp_ca_openreq_child), so nothing needs to wait for this.
	// Its description is what host check reads of it.
	unitText = ltMark + `[Unit]
Description=net.ipv4.tcp_congestion_control = cubic_lt
RequiresMountsFor=/sys/fs/bpf
Wants=modprobe@tcp_cubic.service
After=systemd-sysctl.service systemd-modules-load.service modprobe@tcp_cubic.service
Before=congctl.service congctl-agent.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=%s host enable cubic_lt --at-boot
`
	wantText = ltMark + "[Unit]\nWants=" + unitName + "\n"
)

// For plans how to make it the default, now and after a reboot. A host that has everything gets a plan without steps.
func (c CubicLT) For(f *advise.Facts) Plan {
	p := &planner{f: f, cong: c.Name}
	p.step(change.Program, c.Pin, change.Text("pinned"), "the congestion control, without a process")
	p.step(change.Sysctl, advise.KeyCong, change.Text(c.Name), "new connections, IPv4 and IPv6")
	atBoot := fmt.Sprintf("have your init run \"congctl host enable %s --at-boot\"", c.Name)
	switch {
	case f.System.Foreign():
		p.note(AboutReboot, "it is off: "+advise.OnlySystemd(f.System.Init)+"; "+atBoot)
	case c.Program == "":
		p.note(AboutReboot, "it is off: "+c.NoProgram)
	default:
		p.step(change.File, CubicLTUnit, change.FileText(fmt.Sprintf(unitText, c.Program)), "after a reboot")
		p.step(change.File, wantFile, change.FileText(wantText), "after a reboot")
	}
	p.Missing = c.missing(f)
	if slices.ContainsFunc(p.Missing, func(m Missing) bool { return !m.Root }) {
		p.Steps, p.Notes = nil, nil
	}
	return p.Plan
}

// loadCubic is in what a kernel lacks whose CUBIC is a module that is not loaded.
const loadCubic = "modprobe tcp_cubic"

func (c CubicLT) missing(f *advise.Facts) (list []Missing) {
	s := f.System
	lacks := func(is bool, what, fix string) {
		if is {
			list = append(list, Missing{What: what, Fix: inContainer(f, fix)})
		}
	}
	can := "boot a kernel that can (docs/kernels.md), or turn BBR on: sudo congctl host enable bbr"
	if strings.Contains(c.Lacks, loadCubic) {
		can = "sudo " + loadCubic
	}
	lacks(c.Lacks != "", "kernel "+f.Kernel.Release+" cannot have "+c.Name+": "+c.Lacks, can)
	lacks(c.Taken, "a process has registered "+c.Name+" for as long as it runs, most likely congctl up or agent", "stop it, run this again, and start it")
	lacks(advise.No(s.InitNetNS) || s.Container != "", "only the host's own network namespace can have it as its default (EPERM in others)", "sudo congctl host enable "+c.Name)
	lacks(s.ProcSysReadOnly.Value, "/proc/sys is mounted read-only", "sudo congctl host enable "+c.Name)
	if s.UID != 0 {
		list = append(list, Missing{fmt.Sprintf("user %d may not change network settings", s.UID), "run it as root: sudo congctl host enable " + c.Name, true})
	}
	return list
}
