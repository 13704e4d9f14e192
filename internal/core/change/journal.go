package change

import (
	"bytes"
	"errors"
	"fmt"
)

// MaxJournalBytes bounds what is read: a plan of MaxSteps with ordinary files and
// several attempts has a tenth of it.
const MaxJournalBytes = 64 << 20

// Opening is the journal of a plan that is about to be carried out. It is put in
// place as a whole: a journal that exists has its plan.
func Opening(p Plan) []byte {
	b := Line{Event: Begin, Version: version, Header: &p.Header}.Bytes()
	for i := range p.Steps {
		b = append(b, Line{Event: Planned, At: i, Step: &p.Steps[i]}.Bytes()...)
	}
	return append(b, Line{Event: Ready, At: len(p.Steps)}.Bytes()...)
}

// Journal is a plan and what became of it.
type Journal struct {
	Plan
	State
	// Whole is the length of the intact lines in bytes: behind it is a line that a
	// power cut tore, to be cut off before the next one is added.
	Whole int
}

// ErrTorn says that the file ends before its plan does: nothing was touched.
var ErrTorn = errors.New("the journal ends before its plan does; nothing was changed")

// Parse reads a journal. The last line may be torn; any other fault is an error that
// names the line. A line that has its newline and a wrong checksum is torn too if it
// is the last: blocks of a file need not reach the disk in order.
func Parse(b []byte) (*Journal, error) {
	if len(b) > MaxJournalBytes {
		return nil, fmt.Errorf("parse journal: %d bytes, at most %d", len(b), MaxJournalBytes)
	}
	j := &Journal{}
	ready := false
	for n := 1; j.Whole < len(b); n++ {
		text, rest, cut := bytes.Cut(b[j.Whole:], []byte("\n"))
		l, err := parseLine(text)
		if !cut || errors.Is(err, errChecksum) && len(rest) == 0 {
			break
		}
		if err == nil {
			err = j.read(l, n, ready)
		}
		if err != nil {
			return nil, fmt.Errorf("parse journal: line %d: %w", n, err)
		}
		ready = ready || l.Event == Ready
		j.Whole += len(text) + 1
	}
	if !ready {
		return nil, fmt.Errorf("parse journal: %w", ErrTorn)
	}
	return j, nil
}

func (j *Journal) read(l Line, n int, ready bool) error {
	switch {
	case n == 1:
		return j.begin(l)
	case !ready && l.Event == Planned:
		if l.Step == nil || l.At != len(j.Steps) {
			return fmt.Errorf("step %d: want step %d", l.At, len(j.Steps))
		}
		j.Steps = append(j.Steps, *l.Step)
		return nil
	case !ready && l.Event == Ready:
		if l.At != len(j.Steps) {
			return fmt.Errorf("ready with %d steps, but %d stand here", l.At, len(j.Steps))
		}
		j.State = NewState(j.Plan)
		return j.Plan.Check()
	case !ready:
		return fmt.Errorf("event %q before the plan is complete", l.Event)
	}
	return j.Take(l)
}

func (j *Journal) begin(l Line) error {
	if l.Event != Begin || l.Header == nil {
		return fmt.Errorf("event %q: want %q with a header", l.Event, Begin)
	}
	if l.Version != version {
		return fmt.Errorf("format %d: this congctl reads %d", l.Version, version)
	}
	j.Header = *l.Header
	return nil
}
