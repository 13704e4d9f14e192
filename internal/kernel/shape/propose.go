package shape

import (
	"github.com/congctl/congctl/internal/core/change"
	"github.com/congctl/congctl/internal/core/shaping"
)

// Request is what a verb asks for: all of it. What an earlier limit had beyond goes.
type Request struct {
	Link    string
	Ask     shaping.Ask
	Persist bool
	Program string // path of congctl, for what runs at boot
	// LiveOnly: files stay as they are, for now.
	LiveOnly bool
}

// Proposal is what would be done.
type Proposal struct {
	Link        shaping.Link
	Target      shaping.Target
	Persistence *shaping.Persistence
	Notes       []string // of what an earlier limit had
	Steps       []change.Step
}

// Propose reads a link and plans; nothing is touched.
func (h *Host) Propose(r Request) (p Proposal, err error) {
	if p.Link, err = Read(r.Link); err != nil {
		return p, err
	}
	incoming, err := getIngress(r.Link)
	if err != nil {
		return p, err
	}
	if r.Ask.OwnIngress = isShaped(incoming); r.Ask.OwnIngress {
		ifb, err := Read(ifbName(p.Link.Index))
		if err != nil {
			return p, err
		}
		r.Ask.Incoming = ifb.Root
	}
	if p.Target, err = shaping.For(p.Link, r.Ask); err != nil {
		return p, err
	}
	if r.Ask.OwnIngress && p.Target.Ingress == nil {
		p.note("the limit of what comes in goes: it was not asked for again (--ingress)")
	}
	if err := h.live(&p); err != nil || r.LiveOnly {
		return p, err
	}
	return p, h.files(&p, r)
}

func (p *Proposal) note(text string) { p.Notes = append(p.Notes, text) }

// live plans what is so until the next boot: offloads before the bucket, which would
// drop what they make.
func (h *Host) live(p *Proposal) error {
	if p.Target.OffloadsOff {
		for _, kind := range []change.Kind{change.TSO, change.GSO} {
			if err := h.step(p, kind, p.Link.Name, change.Text("off"), "tbf of this kernel drops super-packets"); err != nil {
				return err
			}
		}
	}
	why := "what comes in is queued on an ifb"
	if p.Target.Ingress == nil {
		why = "not asked for again"
	}
	if err := h.step(p, change.Ingress, p.Link.Name, change.Text(IngressValue(p.Target)), why); err != nil {
		return err
	}
	return h.step(p, change.Egress, p.Link.Name, change.Text(EgressValue(p.Target)), "the limit")
}

// step adds a write, unless the target has the value or an earlier step gives it.
func (h *Host) step(p *Proposal, k change.Kind, target string, v change.Value, why string) error {
	for _, s := range p.Steps {
		if s.Kind == k && s.Target == target {
			return nil
		}
	}
	old, err := h.engine.Read(k, target)
	if err != nil {
		return err
	}
	if !k.Same(v, old) {
		p.Steps = append(p.Steps, change.Step{Kind: k, Target: target, Old: old, New: v, Why: why})
	}
	return nil
}
