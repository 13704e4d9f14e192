package change

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
)

// Event is what a line of the journal tells.
type Event string

// The events. Begin, Planned and Ready are written at once, before anything is touched.
const (
	Begin   Event = "begin"  // the header, with the format's version
	Planned Event = "step"   // one step of the plan
	Ready   Event = "ready"  // the plan is complete; At is the number of steps
	Intend  Event = "intend" // step At is about to be written; Now is what a boot has given it since the plan
	Done    Event = "done"   // it is; Now is what the target really has since
	Apply   Event = "applied"
	Booted  Event = "boot"   // the work goes on after a reboot; Text is the boot id
	Undo    Event = "undo"   // from here on steps are taken back; Text says why
	Back    Event = "back"   // step At is about to be taken back; Now is to what, where that is not what the plan found
	Undone  Event = "undone" // it is, or there was nothing to take back
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
		h.Verb, h.Machine = readable(h.Verb), readable(h.Machine)
		l.Header = &h
	}
	text, err := plainJSON(l)
	if err != nil {
		panic(fmt.Sprintf("encode journal line: %v", err)) // Check has refused what can fail
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text)
}

// readable is a text for people only, in UTF-8. JSON has no other bytes: what a value or a
// target has of them is kept apart, see the wire forms.
func readable(s string) string { return strings.ToValidUTF8(s, "?") }

// plainJSON leaves < > & as they are: people read journals.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// errChecksum is of a line that was never written so. A power cut leaves such a line.
var errChecksum = errors.New("checksum does not fit")

// parseLine reads one line without its newline. Only the spelling that Bytes writes
// is taken.
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
