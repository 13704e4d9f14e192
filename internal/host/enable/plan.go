package enable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/host/advise"
)

// Cong is the congestion control to plan for, by its plain name; a host that has another version of BBR keeps
// it. Others need no pacing and no plan: one setting is enough.
const Cong = "bbr"

// Plan is how to enable BBR on a host.
type Plan struct {
	// Steps are the writes in their order, without their old values: live ones first,
	// so that what the kernel refuses never becomes permanent.
	Steps []change.Step
	// Notes say what is left alone, and why.
	Notes []Note
	// Missing is why nothing can be done. Steps is then empty, unless root may do them.
	Missing []Missing
}

// Note is something left as it is.
type Note struct {
	About string `json:"about"` // "eth1", "fq"
	Text  string `json:"text"`
}

// AboutReboot is the About of notes on what does not outlive a reboot.
const AboutReboot = "after a reboot"

// Missing is a condition that this host or program lacks.
type Missing struct {
	What string `json:"what"`
	Fix  string `json:"fix"` // how to get it
	// Root lacks nothing: only this user does.
	Root bool `json:"-"`
}

// For plans how to turn BBR on. A host that has everything gets a plan without steps.
func For(f *advise.Facts) Plan {
	p := &planner{f: f, cong: f.BBR()}
	if p.cong != Cong {
		p.note(p.cong, fmt.Sprintf("is BBR version %d, and is kept", f.BBRVersion(p.cong)))
	}
	p.fair = p.hasFq()
	p.modules()
	p.settings()
	p.links()
	p.defaultQdisc()
	p.files()
	if len(p.Steps) == 0 {
		return p.Plan // what holds already needs no privilege
	}
	p.Missing = missing(f)
	if slices.ContainsFunc(p.Missing, func(m Missing) bool { return !m.Root }) {
		p.Steps, p.Notes = nil, nil
	}
	return p.Plan
}

type planner struct {
	Plan
	f    *advise.Facts
	cong string // the name of BBR here
	fair bool   // the kernel has fq
}

func (p *planner) step(k change.Kind, target string, v change.Value, why string) {
	p.Steps = append(p.Steps, change.Step{Kind: k, Target: target, New: v, Why: why})
}

func (p *planner) note(about, text string) { p.Notes = append(p.Notes, Note{about, text}) }

// state returns a module's state, absent if unknown.
func (p *planner) state(module string) advise.ModuleState {
	if s := p.f.Module(module).State; s.OK() {
		return s.Value
	}
	return advise.ModuleAbsent
}

func (p *planner) hasFq() bool {
	s := p.state("sch_fq")
	if file, line, is := p.f.KeptOut("sch_fq"); is && s == advise.ModuleLoadable {
		p.note("fq", file+" blocks its module ("+line+"): TCP paces BBR by itself")
		return false
	}
	if s != advise.ModuleAbsent {
		return true
	}
	p.note("fq", "this kernel has no fq: TCP paces BBR by itself (since Linux 4.13), at the cost of a timer per connection")
	return false
}

// modules loads what the next steps need. The kernel would load both by itself; as separate
// steps an undo unloads them again.
func (p *planner) modules() {
	if p.state("tcp_"+p.cong) == advise.ModuleLoadable && !slices.Contains(p.f.Cong.Available.Value, p.cong) {
		p.step(change.Module, "tcp_"+p.cong, change.Text("loaded"), "has BBR")
	}
	if p.fair && p.state("sch_fq") == advise.ModuleLoadable && p.wantsFq() {
		p.step(change.Module, "sch_fq", change.Text("loaded"), "has fq")
	}
}

func (p *planner) wantsFq() bool {
	if p.ownsDefaultQdisc() && p.f.Sysctl[advise.KeyQdisc].Value != "fq" {
		return true
	}
	return slices.ContainsFunc(p.f.Links.Value, func(l advise.Link) bool {
		_, verdict := fairTree(l)
		return verdict == replace
	})
}

func (p *planner) settings() {
	if p.f.Cong.Current.Value != p.cong {
		p.allow()
		p.step(change.Sysctl, advise.KeyCong, change.Text(p.cong), "new connections, IPv4 and IPv6")
	}
}

// allow makes a side effect of the next step explicit: the kernel lets every program choose
// what was once a default (tcp_set_default_congestion_control), and keeps that. As a
// separate step it can be undone. A module yet to be loaded comes allowed and goes with it;
// only the first network namespace may write the list.
func (p *planner) allow() {
	c := p.f.Cong
	if !c.Allowed.OK() || slices.Contains(c.Allowed.Value, p.cong) || !available(p.f) || !p.f.System.InitNetNS.OK() || !p.f.System.InitNetNS.Value {
		return
	}
	// Both lists have the order of registration.
	list := slices.DeleteFunc(slices.Clone(c.Available.Value), func(name string) bool {
		return name != p.cong && !slices.Contains(c.Allowed.Value, name)
	})
	p.step(change.Sysctl, advise.KeyAllowed, change.Text(strings.Join(list, " ")), "a default must be allowed")
}

// ownsDefaultQdisc: the setting is the whole machine's, so only the first network namespace has it.
func (p *planner) ownsDefaultQdisc() bool {
	return p.fair && p.f.Sysctl[advise.KeyQdisc].OK() && (!p.f.System.InitNetNS.OK() || p.f.System.InitNetNS.Value)
}

func (p *planner) defaultQdisc() {
	switch {
	case !p.fair:
	case !p.ownsDefaultQdisc():
		p.note(advise.KeyQdisc, "belongs to the host's network namespace, and this is another")
	case p.f.Sysctl[advise.KeyQdisc].Value != "fq":
		p.step(change.Sysctl, advise.KeyQdisc, change.Text("fq"), "new interfaces")
	}
}
