package change

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxJournalBytes bounds what is read: a plan of MaxSteps with ordinary files and
// several attempts has a tenth of it.
const MaxJournalBytes = 64 << 20

// Opening returns the journal of a plan that is about to be carried out. It is put in place
// whole: a journal that exists has its plan.
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
	// Whole is the length of the intact lines in bytes. After it comes a line torn by a
	// power cut, to be cut off before the next one is added.
	Whole int
}

// ErrTorn means that the file ends before its plan does: nothing was touched.
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
			j.today(l)
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

// today brings what an earlier congctl wrote into the form of today.
func (j *Journal) today(l Line) {
	if s := l.Step; s != nil {
		s.Old, s.New = s.Kind.today(s.Old), s.Kind.today(s.New)
	}
	if l.Now != nil && l.At >= 0 && l.At < len(j.Steps) {
		*l.Now = j.Steps[l.At].Kind.today(*l.Now)
	}
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

// Event is what a line of the journal records.
type Event string

// The events. Begin, Planned and Ready are written at once, before anything is touched.
const (
	Begin   Event = "begin"  // the header, with the format's version
	Planned Event = "step"   // one step of the plan
	Ready   Event = "ready"  // the plan is complete; At is the number of steps
	Intend  Event = "intend" // step At is about to be written; Now is its value from a boot since the plan
	Done    Event = "done"   // it is written; Now is what the target really has since
	Apply   Event = "applied"
	Booted  Event = "boot"   // the work continues after a reboot; Text is the boot id
	Undo    Event = "undo"   // from here on steps are undone; Text says why
	Back    Event = "back"   // step At is about to be undone; Now is the value to restore, if not the one that the plan found
	Undone  Event = "undone" // it is undone, or there was nothing to undo
	Left    Event = "left"   // step At stays as a reboot or a user of it left it, Text says how
	Refuse  Event = "refuse" // step At was changed by somebody since, Text says how
	Closed  Event = "closed" // nothing more is to be undone; Text says why
)

// version is the format's, in the first line.
const version = 1

// Line is one line of a journal.
type Line struct {
	Event   Event   `json:"e"`
	Version int     `json:"congctl_change,omitempty"`
	Header  *Header `json:"header,omitempty"`
	Step    *Step   `json:"step,omitempty"`
	At      int     `json:"i,omitempty"`
	Now     *Value  `json:"now,omitempty"`
	Text    string  `json:"text,omitempty"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Bytes is the line as it stands in the file: checksum, blank, JSON, newline.
func (l Line) Bytes() []byte {
	l.Text = readable(l.Text)
	if l.Header != nil {
		h := *l.Header
		h.Verb, h.Machine, h.Netns = readable(h.Verb), readable(h.Machine), readable(h.Netns)
		l.Header = &h
	}
	text, err := plainJSON(l)
	if err != nil {
		panic(fmt.Sprintf("encode journal line: %v", err)) // Check has refused everything that can fail
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text)
}

// readable makes text valid UTF-8, for people only. JSON has no other bytes: those of a
// value or a target are stored apart, see the wire forms.
func readable(s string) string { return strings.ToValidUTF8(s, "?") }

// plainJSON leaves < > & as they are: people read journals.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// errChecksum is for a line that was never written like that. A power cut leaves such a line.
var errChecksum = errors.New("checksum does not fit")

// parseLine reads one line without its newline. It accepts only the spelling that Bytes writes.
func parseLine(b []byte) (l Line, err error) {
	if len(b) < 9 || b[8] != ' ' {
		return l, fmt.Errorf("%w: want 8 digits and a blank", errChecksum)
	}
	sum, err := strconv.ParseUint(string(b[:8]), 16, 32)
	if err != nil {
		return l, fmt.Errorf("%w: %w", errChecksum, err)
	}
	if crc32.Checksum(b[9:], castagnoli) != uint32(sum) {
		return l, errChecksum
	}
	if err := strictJSON(b[9:], &l); err != nil {
		return l, err
	}
	if again := l.Bytes(); !bytes.Equal(again[:len(again)-1], b) {
		return l, errors.New("not spelled as congctl writes it")
	}
	return l, nil
}

func strictJSON(b []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// spelled is a string of any bytes in JSON. Exactly one of Text and Bytes is set.
type spelled struct {
	Text  *string `json:"text,omitempty"`
	Bytes *string `json:"bytes,omitempty"` // base64, where it is not UTF-8
}

func spell(s string) spelled {
	if utf8.ValidString(s) {
		return spelled{Text: &s}
	}
	b := base64.StdEncoding.EncodeToString([]byte(s))
	return spelled{Bytes: &b}
}

func (s spelled) string() (string, error) {
	switch {
	case s.Text != nil && s.Bytes == nil:
		return *s.Text, nil
	case s.Bytes != nil && s.Text == nil:
		raw, err := base64.StdEncoding.DecodeString(*s.Bytes)
		return string(raw), err
	}
	return "", fmt.Errorf("want either text or bytes")
}

// wireValue is a value in the journal.
type wireValue struct {
	spelled
	Mode string `json:"mode,omitempty"` // octal
	UID  uint32 `json:"uid,omitempty"`
	GID  uint32 `json:"gid,omitempty"`
}

// MarshalJSON writes "absent" for a target that does not exist: null would be a line without
// a value.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Present {
		return []byte(`"absent"`), nil
	}
	w := wireValue{spelled: spell(v.Text), UID: v.UID, GID: v.GID}
	if v.Mode != 0 {
		w.Mode = strconv.FormatUint(uint64(v.Mode), 8)
	}
	return plainJSON(w)
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (v *Value) UnmarshalJSON(b []byte) (err error) {
	*v = Value{}
	if string(b) == `"absent"` {
		return nil
	}
	var w wireValue
	if err := strictJSON(b, &w); err != nil {
		return err
	}
	v.Present, v.UID, v.GID = true, w.UID, w.GID
	if v.Text, err = w.string(); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	if w.Mode == "" {
		return nil
	}
	m, err := strconv.ParseUint(w.Mode, 8, 12)
	if err != nil {
		return fmt.Errorf("value: mode: %w", err)
	}
	v.Mode = uint32(m)
	return nil
}

// wireStep is a step in the journal.
type wireStep struct {
	Kind        Kind    `json:"kind"`
	Target      *string `json:"target,omitempty"`
	TargetBytes *string `json:"target_bytes,omitempty"`
	Old         Value   `json:"old"`
	New         Value   `json:"new"`
	Why         string  `json:"why"`
}

// MarshalJSON writes a step as the journal has it.
func (s Step) MarshalJSON() ([]byte, error) {
	t := spell(s.Target)
	return plainJSON(wireStep{s.Kind, t.Text, t.Bytes, s.Old, s.New, readable(s.Why)})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (s *Step) UnmarshalJSON(b []byte) (err error) {
	var w wireStep
	if err := strictJSON(b, &w); err != nil {
		return err
	}
	*s = Step{Kind: w.Kind, Old: w.Old, New: w.New, Why: w.Why}
	if s.Target, err = (spelled{w.Target, w.TargetBytes}).string(); err != nil {
		return fmt.Errorf("step: target: %w", err)
	}
	return nil
}
