package change

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Value is what a target holds, exactly. The zero Value is a target that does not
// exist. Owner and mode are of files and directories only.
type Value struct {
	Present  bool
	Text     string // whole content, as its kind spells it; any bytes
	Mode     uint32 // permission bits
	UID, GID uint32
}

// Absent is the value of what does not exist.
var Absent = Value{}

// Text is the value of a target that has no owner: a sysctl, a qdisc, a module.
func Text(s string) Value { return Value{Present: true, Text: s} }

// FileText is a file of root's with ordinary permissions, 0644.
func FileText(s string) Value { return Value{Present: true, Text: s, Mode: 0o644} }

// wire is a value in the journal. Exactly one of Text and Bytes is there.
type wire struct {
	Text  *string `json:"text,omitempty"`
	Bytes *string `json:"bytes,omitempty"` // base64, where the text is not UTF-8
	Mode  string  `json:"mode,omitempty"`  // octal
	UID   uint32  `json:"uid,omitempty"`
	GID   uint32  `json:"gid,omitempty"`
}

// MarshalJSON writes "absent" for what does not exist: null would be a line without a value.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Present {
		return []byte(`"absent"`), nil
	}
	w := wire{UID: v.UID, GID: v.GID}
	if utf8.ValidString(v.Text) {
		w.Text = &v.Text
	} else {
		s := base64.StdEncoding.EncodeToString([]byte(v.Text))
		w.Bytes = &s
	}
	if v.Mode != 0 {
		w.Mode = strconv.FormatUint(uint64(v.Mode), 8)
	}
	return plainJSON(w)
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (v *Value) UnmarshalJSON(b []byte) error {
	*v = Value{}
	if string(b) == `"absent"` {
		return nil
	}
	var w wire
	if err := strictJSON(b, &w); err != nil {
		return err
	}
	v.Present, v.UID, v.GID = true, w.UID, w.GID
	switch {
	case w.Text != nil && w.Bytes == nil:
		v.Text = *w.Text
	case w.Bytes != nil && w.Text == nil:
		raw, err := base64.StdEncoding.DecodeString(*w.Bytes)
		if err != nil {
			return fmt.Errorf("value: bytes: %w", err)
		}
		v.Text = string(raw)
	default:
		return fmt.Errorf("value: want either text or bytes")
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
