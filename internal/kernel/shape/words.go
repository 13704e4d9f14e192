package shape

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/core/change"
	"github.com/congctl/congctl/internal/core/shaping"
	"github.com/congctl/congctl/internal/kernel/qdisc"
)

// ValueWords tells the value of a step to people.
func ValueWords(k change.Kind, v change.Value) string {
	if k.Volatile() && v.Present {
		return Words(string(k), v.Text)
	}
	return change.Brief(v)
}

// Words tells a setting's value to people. What it cannot read it gives as it is.
func Words(kind, value string) string {
	switch {
	case kind != Egress && kind != Ingress:
		return value
	case isShaped(value):
		l, err := parseValue(value)
		if err != nil {
			return value
		}
		text := fmt.Sprintf("tbf rate %s burst %dB limit %dB", shaping.Rate(l.RateBytesPerS*8), l.BurstBytes, l.LimitBytes)
		if l.inner != "" {
			text += ", " + l.inner + " below"
		}
		for _, g := range l.guests {
			text += fmt.Sprintf(", %s %x: below of somebody else", g.Kind, g.Handle>>16)
		}
		return text
	}
	all, err := qdisc.ParseSaved(value)
	if err != nil {
		return value
	}
	return inWords(all)
}

// inWords counts alike ones: a card has a hundred leaves.
func inWords(all []qdisc.Saved) string {
	var kinds []string
	n := map[string]int{}
	for _, s := range all {
		text := s.Kind
		if s.Handle != 0 && s.Parent == qdisc.Root {
			text += fmt.Sprintf(" %x:", s.Handle>>16)
		}
		if n[text]++; n[text] == 1 {
			kinds = append(kinds, text)
		}
	}
	for i, k := range kinds {
		if n[k] > 1 {
			kinds[i] = fmt.Sprintf("%d %s", n[k], k)
		}
	}
	if len(kinds) == 0 {
		return "none"
	}
	return strings.Join(kinds, ", ")
}

// otherNow says that the kernel's own came back otherwise than it was, "" if it did not.
func otherNow(before, now string) string {
	was, err := qdisc.ParseSaved(before)
	is, err2 := qdisc.ParseSaved(now)
	if err != nil || err2 != nil || !qdisc.Same(was, nil) || before == now {
		return ""
	}
	if w, i := inWords(was), inWords(is); w != i {
		return fmt.Sprintf("what the kernel puts there by itself, which is %s now and was %s", i, w)
	}
	return "what the kernel puts there by itself, with other parameters than then: a setting or the MTU changed"
}

// Name tells what a kind of setting is to people.
func Name(kind string) string {
	switch kind {
	case Egress:
		return "root qdisc of"
	case Ingress:
		return "what is received by"
	case TSO:
		return "TSO of"
	case GSO:
		return "GSO of"
	}
	return kind
}
