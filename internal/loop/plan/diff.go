package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Diff is what changed from one plan to another.
type Diff struct {
	From      record.PlanID `json:"from"` // serial; 0 is no plan
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

// EntryChange is a prefix in both plans whose entries differ.
type EntryChange struct {
	Prefix record.Prefix `json:"prefix"`
	Fields []FieldChange `json:"fields"`
}

// Compare lists the changes from a to b, by prefix. A nil plan is an empty one. Of two entries
// with one prefix, which no valid plan has, the last counts.
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

// Text prints the changes, one per line, entries in prefix order: "~" changed, "+" added, "-"
// removed; then the counts.
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
	lines := map[record.Prefix]string{}
	for _, e := range d.Added {
		lines[e.Prefix] = "+ " + string(appendEntry(nil, e)[len(treat)+1:])
	}
	for _, e := range d.Removed {
		lines[e.Prefix] = "- " + string(appendEntry(nil, e)[len(treat)+1:])
	}
	for _, c := range d.Changed {
		lines[c.Prefix] = fmt.Sprintf("~ %s %s", c.Prefix, fieldChanges(c.Fields))
	}
	for _, p := range slices.Sorted(maps.Keys(lines)) {
		s.WriteString(lines[p] + "\n")
	}
}

func fieldChanges(cs []FieldChange) string {
	parts := make([]string, len(cs))
	for i, c := range cs {
		// Quoted, because the entries of an unvalidated plan may hold anything.
		parts[i] = fmt.Sprintf("%s: %q -> %q", c.Field, c.From, c.To)
	}
	return strings.Join(parts, ", ")
}
