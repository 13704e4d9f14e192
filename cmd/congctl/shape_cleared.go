package main

import (
	"fmt"
	"io"

	"github.com/congctl/congctl/internal/core/change"
	carry "github.com/congctl/congctl/internal/kernel/change"
	"github.com/congctl/congctl/internal/kernel/shape"
)

// ShapeCleared is the answer of shape clear.
type ShapeCleared struct {
	Interface string   `json:"interface"`
	Restored  []string `json:"restored"` // what has its old value again
	Left      []string `json:"left"`     // what a reboot or a user of it left otherwise
	Refused   []string `json:"refused"`  // what somebody changed since
	Failed    []string `json:"failed"`   // what could not be written
	Reread    []string `json:"reread"`   // who has to read its files again, and the command
}

func (a ShapeCleared) any() bool {
	return len(a.Restored)+len(a.Left)+len(a.Refused)+len(a.Failed) > 0
}

func clearAnswer(link string, r carry.Report) ShapeCleared {
	list := func(notes carry.Notes) []string {
		all := []string{}
		for _, n := range notes {
			text := shape.Name(string(n.Step.Kind)) + " " + n.Step.Target
			if n.Text != "" {
				text += ": " + n.Text
			}
			all = append(all, text)
		}
		return all
	}
	var steps []change.Step
	for _, n := range r.Restored {
		steps = append(steps, n.Step)
	}
	return ShapeCleared{link, list(r.Restored), list(r.Left), list(r.Refused), list(r.Failed), reread(steps)}
}

// write leaves to the error what was refused or has failed.
func (a ShapeCleared) write(w io.Writer) (err error) {
	if len(a.Refused)+len(a.Failed) == 0 {
		_, err = fmt.Fprintf(w, "%s: no longer limited by congctl\n", a.Interface)
	}
	for _, s := range a.Restored {
		_, err = fmt.Fprintf(w, "as before: %s\n", s)
	}
	for _, s := range a.Left {
		_, err = fmt.Fprintf(w, "left: %s\n", s)
	}
	writeReread(w, a.Reread)
	return err
}
