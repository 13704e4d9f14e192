package change

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// spelled is a string of any bytes in JSON. Exactly one of Text and Bytes is there.
type spelled struct {
	Text  *string
	Bytes *string // base64, where it is not UTF-8
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
	Text  *string `json:"text,omitempty"`
	Bytes *string `json:"bytes,omitempty"`
	Mode  string  `json:"mode,omitempty"` // octal
	UID   uint32  `json:"uid,omitempty"`
	GID   uint32  `json:"gid,omitempty"`
}

// MarshalJSON writes "absent" for what does not exist: null would be a line without a value.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Present {
		return []byte(`"absent"`), nil
	}
	s := spell(v.Text)
	w := wireValue{Text: s.Text, Bytes: s.Bytes, UID: v.UID, GID: v.GID}
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
	if v.Text, err = (spelled{w.Text, w.Bytes}).string(); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	return v.readMode(w.Mode)
}

func (v *Value) readMode(s string) error {
	if s == "" {
		return nil
	}
	m, err := strconv.ParseUint(s, 8, 12)
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
