package change

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is what a target is, and so what reads and writes it.
type Kind string

// The kinds. A target is a path for the first two, then a dotted key; the name of a module
// for Module, and of a link for all others.
const (
	File    Kind = "file"
	Dir     Kind = "dir"
	Sysctl  Kind = "sysctl"
	Qdisc   Kind = "qdisc"
	TSO     Kind = "offload-tso" // a link's segmentation offloads, "on" or "off"
	GSO     Kind = "offload-gso"
	Module  Kind = "module"
	Program Kind = "struct_ops"    // a congestion control that is an eBPF program, pinned
	Egress  Kind = "shape-egress"  // a link's qdiscs, KIND PARENT HANDLE OPTIONS; ... or a limit, "shaped ... INNER"
	Ingress Kind = "shape-ingress" // a limit of what comes in, "none", or CutOff
)

// NoIngress is no limit of what comes in.
const NoIngress = "none"

// CutOff is an ingress limit that exists but that nothing leads to: half made, half removed,
// or with somebody else's rule in place of ours.
const CutOff = "cut off"

// Volatile reports whether a reboot clears the value; then the files decide what the target has.
func (k Kind) Volatile() bool { return k != File && k != Dir }

// ofLink reports whether the target is a link, and the value gone with it.
func (k Kind) ofLink() bool { return k.Volatile() && k != Sysctl && k != Module && k != Program }

// Step is one write: a target gets New in place of Old. The keys are those of wireStep.
type Step struct {
	Kind   Kind   `json:"kind"`
	Target string `json:"target"` // any bytes: a link's name need not be UTF-8
	Old    Value  `json:"old"`
	New    Value  `json:"new"`
	Why    string `json:"why"` // for people, a few words
}

func (s Step) String() string { return string(s.Kind) + " " + s.Target }

// Header is what a plan is, and when and on which machine it was made.
type Header struct {
	ID      string    `json:"id"`      // name of the journal
	Subject string    `json:"subject"` // a subject has at most one change in force: "host", "shape eth0"
	Verb    string    `json:"verb"`    // the command line, for people
	At      time.Time `json:"at"`      // UTC, whole seconds
	Boot    string    `json:"boot"`    // boot id of the running kernel
	Machine string    `json:"machine"` // machine id, or the host's name without one
	// Netns is the network namespace that the change is in, "" in the journals of earlier versions. Like Link it holds for Boot only.
	Netns string `json:"netns,omitempty"`
	Link  *Link  `json:"link,omitempty"` // that the subject names, nil for none
}

// Link is an interface by what stays when it is renamed.
type Link struct {
	Index   int    `json:"index"`
	Address string `json:"address,omitempty"` // of the link layer: another link may get the index later
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

// Value is what a target holds, exactly. The zero Value is a target that does not
// exist. Owner and mode are of files and directories only.
type Value struct {
	Present  bool
	Text     string // whole content, as its kind spells it; any bytes
	Mode     uint32 // permission bits
	UID, GID uint32
}

// Absent is the value of a target that does not exist.
var Absent = Value{}

// Text returns the value of a target without an owner: a sysctl, a qdisc, a module.
func Text(s string) Value { return Value{Present: true, Text: s} }

// FileText returns a file owned by root with ordinary permissions, 0644.
func FileText(s string) Value { return Value{Present: true, Text: s, Mode: 0o644} }

// Read returns what a target has now.
type Read func(k Kind, target string) (Value, error)

// Complete turns steps with only new values into those of a plan: it fills in the present
// values, keeps mode and owner of an existing file, makes missing directories, and drops
// what already holds.
func Complete(wanted []Step, read Read) (steps []Step, err error) {
	for _, s := range wanted {
		if s.Old, err = read(s.Kind, s.Target); err != nil {
			return nil, fmt.Errorf("read %s: %w", s, err)
		}
		if s.Kind.Same(s.New, s.Old) {
			continue
		}
		if s.Kind == File && s.New.Present {
			if s.Old.Present {
				s.New.Mode, s.New.UID, s.New.GID = s.Old.Mode, s.Old.UID, s.Old.GID
			}
			if s.Old == s.New {
				continue
			}
			dirs, err := missingDirs(path.Dir(s.Target), steps, read)
			if err != nil {
				return nil, err
			}
			steps = append(steps, dirs...)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// missingDirs returns the steps that make a directory and those above it, the highest first.
func missingDirs(dir string, have []Step, read Read) (steps []Step, err error) {
	for d := dir; d != "/" && d != "."; d = path.Dir(d) {
		v, err := read(Dir, d)
		if err != nil {
			return nil, fmt.Errorf("read directory %s: %w", d, err)
		}
		if v.Present || slices.ContainsFunc(have, func(s Step) bool { return s.Kind == Dir && s.Target == d }) {
			break
		}
		steps = append(steps, Step{Kind: Dir, Target: d, New: Value{Present: true, Mode: 0o755}, Why: "is not there"})
	}
	slices.Reverse(steps)
	return steps, nil
}

// Same reports whether a target that has now has what is wanted. It compares files by bytes,
// other kinds by meaning: the kernel spells blanks and handles its own way.
func (k Kind) Same(want, now Value) bool {
	if want.Present != now.Present {
		return false
	}
	switch k {
	case Sysctl:
		return strings.Join(strings.Fields(want.Text), " ") == strings.Join(strings.Fields(now.Text), " ")
	case Qdisc:
		return sameTree(want.Text, now.Text, unnamed)
	case Ingress:
		// What was cut off before limits nothing, and cannot be restored to that.
		return want == now || want.Text == CutOff && now.Text == NoIngress
	case Egress:
		return sameTree(want.Text, now.Text, Named)
	case Module, Program:
		return true // it exists: it has no other value
	}
	return want == now
}

// midway reports whether now can be a state between old and new, in either direction. Only
// qdiscs and what leads to them take more than one write.
func (k Kind) midway(s Step, old, now Value) bool {
	switch k {
	case Qdisc:
		return now.Present && midTree(s.New.Text, now.Text)
	case Egress: // on the way back the root goes first, and what is below it comes last
		return now.Present && (sameTree("", now.Text, Named) || bucketOf(s.New.Text, now.Text) || bucketOf(old.Text, now.Text))
	case Ingress:
		return now.Text == CutOff
	}
	return false
}

// bucketOf reports whether a link has no more than the bucket of a limit, with or without
// that limit's own qdisc below it: the text of both differs in the last word at most.
func bucketOf(limit, now string) bool {
	limit, _, _ = strings.Cut(limit, "; ") // attached below by somebody
	last := strings.LastIndex(limit, " ") + 1
	return strings.HasPrefix(limit, "shaped ") && strings.HasPrefix(now, limit[:last]) && !strings.Contains(now[last:], " ")
}

// briefBytes is the room on one line of a terminal beside the names.
const briefBytes = 60

// Brief prints a value in one line for people.
func Brief(v Value) string {
	switch {
	case !v.Present:
		return "absent"
	case v.Text == "":
		return "empty"
	}
	text := strings.TrimSuffix(v.Text, "\n")
	if n := strings.Count(text, "\n"); n > 0 {
		return fmt.Sprintf("%d lines (%d bytes)", n+1, len(v.Text))
	}
	if len(text) > briefBytes {
		return fmt.Sprintf("%q...", text[:briefBytes])
	}
	return fmt.Sprintf("%q", text)
}
