package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/congctl/congctl/internal/core/change"
	"github.com/congctl/congctl/internal/core/shaping"
	"github.com/congctl/congctl/internal/kernel/shape"
)

// ShapeSet is the answer of shape set.
type ShapeSet struct {
	Interface      string       `json:"interface"`
	Done           bool         `json:"done"` // false of a dry run
	RateBitPerS    uint64       `json:"rate_bit_per_s"`
	RateBytesPerS  uint64       `json:"rate_bytes_per_s"`
	BurstBytes     uint64       `json:"burst_bytes"`
	QueueBytes     uint64       `json:"queue_bytes"`
	WaitMs         float64      `json:"wait_ms"`
	Writes         []ShapeWrite `json:"writes"`
	KeptBy         string       `json:"kept_by,omitempty"`
	Notes          []string     `json:"notes"`
	Reread         []string     `json:"reread"` // who has to read its files again, and the command
	ConfirmWithinS int          `json:"confirm_within_s,omitempty"`
	ConfirmWhy     string       `json:"confirm_why,omitempty"`

	target shaping.Target
}

// ShapeWrite is one write to the host.
type ShapeWrite struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	Old    string `json:"old"`
	New    string `json:"new"`
}

func newShapeSetAnswer(p shape.Proposal, done bool) ShapeSet {
	t := p.Target.Tbf
	a := ShapeSet{Interface: p.Link.Name, Done: done, RateBitPerS: uint64(t.Rate), RateBytesPerS: t.Rate.BytesPerS(), BurstBytes: uint64(t.Burst),
		QueueBytes: uint64(t.Limit), WaitMs: float64(shaping.Wait(t.Rate, t.Limit, t.Burst).Microseconds()) / 1000,
		Writes: []ShapeWrite{}, Notes: append([]string{}, p.Target.Notes...), target: p.Target}
	for _, s := range p.Steps {
		a.Writes = append(a.Writes, ShapeWrite{string(s.Kind), s.Target, shape.ValueWords(s.Kind, s.Old), shape.ValueWords(s.Kind, s.New)})
	}
	a.Notes, a.Reread = append(a.Notes, p.Notes...), reread(p.Steps)
	if p.Persistence != nil {
		a.KeptBy = string(p.Persistence.Keeper)
		a.Notes = append(a.Notes, p.Persistence.Notes...)
	}
	return a
}

func (a ShapeSet) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", a.target.Summary())
	for _, n := range a.Notes {
		fmt.Fprintln(&b, "note  ", n)
	}
	verb := "would write"
	if a.Done {
		verb = "wrote"
	}
	a.writeWrites(&b, verb)
	writeReread(&b, a.Reread)
	switch {
	case len(a.Writes) == 0:
		fmt.Fprintf(&b, "%s is so already: nothing to write\n", a.Interface)
	case a.KeptBy != "":
		fmt.Fprintf(&b, "kept after a boot by %s\n", a.KeptBy)
	case a.Done && a.ConfirmWithinS == 0:
		fmt.Fprintf(&b, "until the next boot; --persist keeps it\n")
	}
	if a.ConfirmWithinS > 0 {
		fmt.Fprintf(&b, "%s: goes away in %d s unless you say: congctl shape confirm %s\n", a.ConfirmWhy, a.ConfirmWithinS, a.Interface)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// reread tells who has files of these steps in memory as they were.
func reread(steps []change.Step) []string {
	var files []string
	for _, s := range steps {
		if s.Kind == change.File {
			files = append(files, s.Target)
		}
	}
	return append([]string{}, shaping.Reread(files)...)
}

func writeReread(w io.Writer, notes []string) {
	for _, n := range notes {
		fmt.Fprintln(w, "reread", n)
	}
}

func (a ShapeSet) writeWrites(w io.Writer, verb string) {
	for _, s := range a.Writes {
		fmt.Fprintf(w, "%s %s %s: %s (was %s)\n", verb, shape.Name(s.Kind), s.Target, s.New, s.Old)
	}
}

// writeConfirmed tells what was written once a limit was confirmed.
func (a ShapeSet) writeConfirmed(w io.Writer) (err error) {
	a.writeWrites(w, "wrote")
	writeReread(w, a.Reread)
	if a.KeptBy != "" {
		_, err = fmt.Fprintf(w, "kept after a boot by %s\n", a.KeptBy)
	}
	return err
}
