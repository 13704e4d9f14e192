package shape

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/core/shaping"
	"github.com/congctl/congctl/internal/kernel/qdisc"
)

// Words tells a setting's value to people. What it cannot read it gives as it is.
func Words(kind, value string) string {
	switch {
	case kind != Egress && kind != Ingress:
		return value
	case isShaped(value):
		t, inner, err := parseValue(value)
		if err != nil {
			return value
		}
		text := fmt.Sprintf("tbf rate %s burst %dB limit %dB", shaping.Rate(t.RateBytesPerS*8), t.BurstBytes, t.LimitBytes)
		if inner != "" {
			text += ", " + inner + " below"
		}
		return text
	}
	all, err := qdisc.ParseSaved(value)
	if err != nil {
		return value
	}
	var kinds []string
	for _, s := range all {
		text := s.Kind
		if s.Handle != 0 {
			text += fmt.Sprintf(" %x:", s.Handle>>16)
		}
		kinds = append(kinds, text)
	}
	return strings.Join(kinds, ", ")
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
