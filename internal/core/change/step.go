package change

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// Kind says what a target is and so who reads and writes it.
type Kind string

// The kinds. A target is a path for the first two, then a dotted key; the name of a
// module for Module, and of a link for all others.
const (
	File    Kind = "file"
	Dir     Kind = "dir"
	Sysctl  Kind = "sysctl"
	Qdisc   Kind = "qdisc"
	TSO     Kind = "offload-tso" // a link's segmentation offloads, "on" or "off"
	GSO     Kind = "offload-gso"
	Module  Kind = "module"
	Egress  Kind = "shape-egress"  // a link's qdiscs, KIND PARENT HANDLE OPTIONS; ... or a limit, "shaped ... INNER"
	Ingress Kind = "shape-ingress" // a limit of what comes in, "none", or CutOff
)

// NoIngress is no limit of what comes in.
const NoIngress = "none"

// CutOff is an ingress limit that is there and that nothing leads to: half made, half
// taken away, or with somebody else's rule in the place of ours.
const CutOff = "cut off"

// Volatile tells whether a reboot takes the value away; then the files decide what
// the target has.
func (k Kind) Volatile() bool { return k != File && k != Dir }

// ofLink tells whether the target is a link, and the value gone with it.
func (k Kind) ofLink() bool { return k.Volatile() && k != Sysctl && k != Module }

// Step is one write: a target gets New where Old was. The keys are those of wireStep.
type Step struct {
	Kind   Kind   `json:"kind"`
	Target string `json:"target"` // any bytes: a link's name need not be UTF-8
	Old    Value  `json:"old"`
	New    Value  `json:"new"`
	Why    string `json:"why"` // for people, a few words
}

func (s Step) String() string { return string(s.Kind) + " " + s.Target }

// Header says what a plan is, when and on which machine it was made.
type Header struct {
	ID      string    `json:"id"`      // name of the journal
	Subject string    `json:"subject"` // at most one change of a subject is in force: "host", "shape eth0"
	Verb    string    `json:"verb"`    // the command line, for people
	At      time.Time `json:"at"`      // UTC, whole seconds
	Boot    string    `json:"boot"`    // boot id of the running kernel
	Machine string    `json:"machine"` // machine id, or the host's name where there is none
}

// Plan is an ordered list of steps; undo goes backwards.
type Plan struct {
	Header
	Steps []Step
}

// MaxSteps bounds a plan: a host with 4,000 links changes each of them and a few files.
const MaxSteps = 4096

// Check refuses a plan that cannot be carried out or undone exactly: one without a
// name, one that writes a target twice, or a step that changes nothing.
func (p Plan) Check() error {
	if p.ID == "" || p.Subject == "" || p.Boot == "" {
		return fmt.Errorf("check plan: id %q, subject %q, boot %q: none may be empty", p.ID, p.Subject, p.Boot)
	}
	if !utf8.ValidString(p.ID + p.Subject + p.Boot) {
		return fmt.Errorf("check plan: id %q, subject %q, boot %q: not UTF-8: a journal cannot be named so", p.ID, p.Subject, p.Boot)
	}
	if y := p.At.Year(); y < 0 || y > 9999 {
		return fmt.Errorf("check plan: at: year %d: set the clock", y)
	}
	if len(p.Steps) == 0 || len(p.Steps) > MaxSteps {
		return fmt.Errorf("check plan: %d steps, want 1 to %d", len(p.Steps), MaxSteps)
	}
	seen := map[string]bool{}
	for i, s := range p.Steps {
		switch {
		case s.Kind == "" || s.Target == "":
			return fmt.Errorf("check plan: step %d: without kind or target", i)
		case !utf8.ValidString(string(s.Kind)):
			return fmt.Errorf("check plan: step %d: kind %q: not UTF-8", i, s.Kind)
		case seen[s.String()]:
			return fmt.Errorf("check plan: step %d: %s stands twice", i, s)
		case s.Old == s.New:
			return fmt.Errorf("check plan: step %d: %s: old and new value are the same", i, s)
		}
		seen[s.String()] = true
	}
	return nil
}
