package plan

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/core/record"
)

// Diff is what changed from one plan to another.
type Diff struct {
	From      record.PlanID `json:"from"` // serial; 0 no plan
	To        record.PlanID `json:"to"`
	Header    []FieldChange `json:"header"`
	Added     []Entry       `json:"added"`
	Removed   []Entry       `json:"removed"`
	Changed   []EntryChange `json:"changed"`
	Unchanged int           `json:"unchanged"`
}

// FieldChange is one value, before and after, as the file writes it.
type FieldChange struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// EntryChange is a prefix in both plans with something else said about it.
type EntryChange struct {
	Prefix record.Prefix `json:"prefix"`
	Fields []FieldChange `json:"fields"`
}

// Compare lists the changes from a to b, by prefix. A nil plan is an empty one.
// Of two entries with one prefix, which no valid plan has, the last counts.
func Compare(a, b *Plan) Diff {
	d := Diff{From: serialOf(a), To: serialOf(b)}
	if a != nil && b != nil {
		d.Header = compareHeader(a, b)
	}
	x, y := entriesOf(a), entriesOf(b)
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].Prefix < y[0].Prefix:
			d.Removed, x = append(d.Removed, x[0]), x[1:]
		case len(x) == 0 || y[0].Prefix < x[0].Prefix:
			d.Added, y = append(d.Added, y[0]), y[1:]
		default:
			if c := compareEntry(x[0], y[0]); len(c) > 0 {
				d.Changed = append(d.Changed, EntryChange{x[0].Prefix, c})
			} else {
				d.Unchanged++
			}
			x, y = x[1:], y[1:]
		}
	}
	return d
}

func serialOf(p *Plan) record.PlanID {
	if p == nil {
		return 0
	}
	return p.Serial
}

func entriesOf(p *Plan) []Entry {
	if p == nil {
		return nil
	}
	s := p.sorted()
	if !hasDuplicates(s) {
		return s
	}
	var out []Entry
	for i, e := range s {
		if i+1 == len(s) || s[i+1].Prefix != e.Prefix {
			out = append(out, e)
		}
	}
	return out
}

func compareHeader(a, b *Plan) (out []FieldChange) {
	for _, f := range header {
		if f.name == "serial" {
			continue // From and To
		}
		out = appendChange(out, f.name, string(f.write(nil, a)), string(f.write(nil, b)))
	}
	return out
}

func compareEntry(a, b Entry) (out []FieldChange) {
	out = appendChange(out, "cong", a.Cong, b.Cong)
	out = appendChange(out, "state", a.State, b.State)
	out = appendChange(out, "since", string(appendTime(nil, a.Since)), string(appendTime(nil, b.Since)))
	out = appendChange(out, "cap_bytes_per_s", string(appendCap(nil, a.CapBytesPerS)), string(appendCap(nil, b.CapBytesPerS)))
	return appendChange(out, "reason", a.Reason, b.Reason)
}

func appendChange(out []FieldChange, field, from, to string) []FieldChange {
	if from == to {
		return out
	}
	return append(out, FieldChange{field, from, to})
}

// Empty reports whether the plans say the same, serials apart.
func (d Diff) Empty() bool {
	return len(d.Header)+len(d.Added)+len(d.Removed)+len(d.Changed) == 0
}

// Text renders the changes, one a line, entries in prefix order: "~" changed,
// "+" added, "-" removed; then the counts.
func (d Diff) Text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "serial %d -> %d\n", d.From, d.To)
	for _, c := range d.Header {
		fmt.Fprintf(&s, "~ %s: %s -> %s\n", c.Field, c.From, c.To)
	}
	d.entryLines(&s)
	fmt.Fprintf(&s, "%d added, %d removed, %d changed, %d unchanged\n", len(d.Added), len(d.Removed), len(d.Changed), d.Unchanged)
	return s.String()
}

func (d Diff) entryLines(s *strings.Builder) {
	add, rem, chg := d.Added, d.Removed, d.Changed
	for len(add)+len(rem)+len(chg) > 0 {
		switch {
		case len(add) > 0 && before(add[0].Prefix, rem, chg):
			fmt.Fprintf(s, "+ %s\n", appendEntry(nil, add[0])[len(treat)+1:])
			add = add[1:]
		case len(rem) > 0 && before(rem[0].Prefix, add, chg):
			fmt.Fprintf(s, "- %s\n", appendEntry(nil, rem[0])[len(treat)+1:])
			rem = rem[1:]
		default:
			fmt.Fprintf(s, "~ %s %s\n", chg[0].Prefix, fieldChanges(chg[0].Fields))
			chg = chg[1:]
		}
	}
}

// before reports whether p comes before the heads of both lists.
func before(p record.Prefix, es []Entry, cs []EntryChange) bool {
	return (len(es) == 0 || p < es[0].Prefix) && (len(cs) == 0 || p < cs[0].Prefix)
}

func fieldChanges(cs []FieldChange) string {
	parts := make([]string, len(cs))
	for i, c := range cs {
		// Quoted, because the entries of a plan that was never validated may hold anything.
		parts[i] = fmt.Sprintf("%s: %q -> %q", c.Field, c.From, c.To)
	}
	return strings.Join(parts, ", ")
}
