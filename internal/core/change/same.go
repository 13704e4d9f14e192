package change

import (
	"fmt"
	"slices"
	"strings"
)

// Same tells whether a target that has now has what is wanted. Files are compared to
// the byte, other kinds by meaning: the kernel spells blanks and handles its own way.
func (k Kind) Same(want, now Value) bool {
	if want.Present != now.Present {
		return false
	}
	switch k {
	case Sysctl:
		return strings.Join(strings.Fields(want.Text), " ") == strings.Join(strings.Fields(now.Text), " ")
	case Qdisc:
		return sameTree(want.Text, now.Text)
	case Ingress:
		// What was cut off before limits nothing, and nobody can make it so again.
		return want == now || want.Text == CutOff && now.Text == NoIngress
	case Egress:
		return named(want.Text) == named(now.Text)
	case Module:
		return true // it is there: it has no other value
	}
	return want == now
}

// named leaves out what the kernel attaches by itself, which has handle 0: of what kind
// that is and with which options, its settings and the link's MTU say anew each time.
func named(qdiscs string) string {
	all := strings.Split(qdiscs, "; ")
	return strings.Join(slices.DeleteFunc(all, func(q string) bool {
		f := strings.Fields(q)
		return len(f) == 4 && f[2] == "0"
	}), "; ")
}

// midway tells whether now can be a state between old and new, in either direction. Only
// qdiscs and what leads to them take more than one write.
func (k Kind) midway(s Step, old, now Value) bool {
	switch k {
	case Qdisc:
		return now.Present && midTree(s.New.Text, now.Text)
	case Egress: // the root goes first on the way back, and what hangs below comes last
		b := bucket(now.Text)
		alone := !strings.Contains(now.Text, "; ")
		return now.Present && (named(now.Text) == "" || b != "" && alone && (b == bucket(s.New.Text) || b == bucket(old.Text)))
	case Ingress:
		return now.Text == CutOff
	}
	return false
}

// bucket is a limit without what hangs below, "" for anything else.
func bucket(text string) string {
	text, _, _ = strings.Cut(text, "; ") // what somebody hung below
	i := strings.LastIndex(text, " ")
	if i < 0 || !strings.HasPrefix(text, "shaped ") {
		return ""
	}
	return text[:i]
}

// briefBytes is what one line of a terminal has room for beside the names.
const briefBytes = 60

// Brief spells a value in one line for people.
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
