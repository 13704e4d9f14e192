package enable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/host/advise"
)

const (
	// dropIn sorts behind what distributions, cloud images and people write (10-, 50-,
	// 99-, local.conf), so that it is applied last.
	dropIn = "/etc/sysctl.d/zz-congctl-bbr.conf"
	// laterDropIn is for a host on which somebody had the same idea.
	laterDropIn = "/etc/sysctl.d/zzzz-congctl-bbr.conf"
	loadFile    = "/etc/modules-load.d/congctl-bbr.conf"

	mark = "# Written by \"congctl host enable bbr\"; \"congctl host disable\" takes it back."
)

// files makes it permanent. It tries each way for this host on paper, and plans the first
// after which the predicted boot ends with our values.
func (p *planner) files() {
	if p.f.System.Init == "none" {
		p.note(AboutReboot, "nothing in this container applies settings when it starts: pass them when you start it (--sysctl "+advise.KeyCong+"="+p.cong+")")
		return
	}
	keys := p.lacking(p.f)
	if len(keys) == 0 {
		return
	}
	for _, f := range []*advise.Facts{p.f, certain(p.f)} {
		for _, way := range []func() []advise.File{p.byDropIn(dropIn), p.byDropIn(laterDropIn), p.byScript} {
			if files := way(); len(files) > 0 && len(p.lacking(with(f, files))) == 0 {
				p.write(files)
				return
			}
		}
	}
	p.noWay(keys)
}

// certain is a host without the writers whose time is unknown: what they set, a file cannot decide, but
// without the file nothing else sets it.
func certain(f *advise.Facts) *advise.Facts {
	g := *f
	g.Writers = nil
	return &g
}

func (p *planner) write(files []advise.File) {
	for _, f := range files {
		v := change.FileText(f.Text)
		if f.Exec {
			v.Mode = 0o755
		}
		p.step(change.File, f.Path, v, "after a reboot")
	}
	p.autoload()
	after := with(p.f, files)
	for _, key := range p.lacking(after) {
		p.note(AboutReboot, key+" is unknown: "+after.AfterBoot(key).Why)
	}
}

// wanted are the settings of a boot, in the order in which they are written.
func (p *planner) wanted() (list []advise.Setting) {
	if p.ownsDefaultQdisc() {
		list = append(list, advise.Setting{Key: advise.KeyQdisc, Value: "fq"})
	}
	return append(list, advise.Setting{Key: advise.KeyCong, Value: p.cong})
}

// lacking returns the settings that a boot would not have.
func (p *planner) lacking(f *advise.Facts) (keys []string) {
	for _, s := range p.wanted() {
		if b := f.AfterBoot(s.Key); !b.OK() || b.Value.Value != s.Value {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// with returns the host as it would be with these files in place of its own.
func with(f *advise.Facts, files []advise.File) *advise.Facts {
	g := *f
	g.Files = slices.Clone(f.Files)
	for _, n := range files {
		g.Files = slices.DeleteFunc(g.Files, func(o advise.File) bool { return o.Path == n.Path })
		g.Files = append(g.Files, n)
	}
	return &g
}

func (p *planner) assignments(format string) string {
	var b strings.Builder
	for _, s := range p.wanted() {
		fmt.Fprintf(&b, format, s.Key, s.Value)
	}
	return b.String()
}

func (p *planner) byDropIn(name string) func() []advise.File {
	return func() []advise.File {
		if f, _ := p.f.Files.Get(name); f.Link != "" {
			return nil // a mask, or somebody's link
		}
		return []advise.File{{Path: name, Text: mark + "\n" + p.assignments("%s = %s\n")}}
	}
}

// byScript uses what systemd runs last, if nothing else applies settings or if it sets
// others: it adds lines before anything that may end the script. It does not enable a script
// that is not run.
func (p *planner) byScript() []advise.File {
	name := p.f.System.Script
	f, ok := p.f.Files.Get(name)
	switch {
	case name == "" || f.Link != "" || f.Why != "" || ok && !f.Exec:
		return nil
	case !ok:
		f = advise.File{Path: name, Text: "#!/bin/sh\n", Exec: true}
	}
	if f.Text != "" && !strings.HasSuffix(f.Text, "\n") {
		f.Text += "\n"
	}
	head, tail := advise.BeforeEnd(f.Text)
	lines := mark + "\n"
	if m := "tcp_" + p.cong; p.isModule(m) {
		lines += "modprobe " + m + "\n"
	}
	f.Text = head + lines + p.assignments("sysctl -w %s=%s\n") + tail
	return []advise.File{f}
}

func (p *planner) isModule(name string) bool {
	s := p.state(name)
	return s == advise.ModuleLoadable || s == advise.ModuleLoaded
}

// autoload loads the modules early. Setting the sysctl would load them, too, but a blacklist or a
// stricter kernel may prevent it.
func (p *planner) autoload() {
	if p.f.System.Container != "" {
		return // a container loads none
	}
	text := mark + "\n"
	n := 0
	for _, m := range []string{"tcp_" + p.cong, "sch_fq"} {
		if p.isModule(m) && (m != "sch_fq" || p.ownsDefaultQdisc()) && p.f.Loads(m) == "" {
			text += m + "\n"
			n++
		}
	}
	if n > 0 {
		p.step(change.File, loadFile, change.FileText(text), "early at boot")
	}
}

// noWay: no file that congctl writes decides. It names what does; BBR is on until the next boot.
func (p *planner) noWay(keys []string) {
	if why := p.f.System.Applies.Why; why != "" {
		p.note(AboutReboot, "is unknown: "+why+"; BBR is on until then: have your init run \"congctl host enable bbr\" at boot, or \"sysctl -w"+p.assignments(" %s=%s")+"\"")
		return
	}
	if !p.f.System.Applies.Value {
		p.note(AboutReboot, "systemd-sysctl is masked, so nothing applies settings at boot and BBR is on only until then: sudo systemctl unmask systemd-sysctl, then run \"congctl host enable bbr\" again")
		return
	}
	for _, key := range keys {
		b := with(p.f, p.byDropIn(laterDropIn)()).AfterBoot(key)
		if !b.OK() {
			p.note(AboutReboot, key+" is unknown: "+b.Why)
			continue
		}
		p.note(AboutReboot, fmt.Sprintf("%s will be set to %s by %s, which overrides any file of congctl, so BBR is on only until then: change it there, or have your init run \"congctl host enable bbr\"",
			key, b.Value.Value, b.Value.From))
	}
}
