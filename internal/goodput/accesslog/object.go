package accesslog

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/strict"
)

// object is a flat JSON object: key to value, as text. encoding/json alone would
// take unknown, repeated and missing keys.
type object map[string]string

// key is what an object may hold.
type key struct {
	name     string
	optional bool
}

func parseObject(line string, keys []key) (object, *strict.Fault) {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, faultOf("", line, "not a JSON object", "one object a line")
	}
	o := object{}
	for d.More() {
		if fault := o.member(d, line, keys); fault != nil {
			return nil, fault
		}
	}
	if t, err := d.Token(); err != nil || t != json.Delim('}') {
		return nil, faultOf("", line, "JSON object does not end", "")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, faultOf("", line, "more than one JSON object in a line", "")
	}
	return o, o.whole(keys)
}

func (o object) member(d *json.Decoder, line string, keys []key) *strict.Fault {
	t, err := d.Token()
	name, ok := t.(string)
	if err != nil || !ok {
		return faultOf("", line, "not JSON", "nginx: escape=json in log_format")
	}
	if _, twice := o[name]; twice {
		return faultOf(name, "", "given twice", "keep one")
	}
	if !slices.ContainsFunc(keys, func(k key) bool { return k.name == name }) {
		return faultOf(name, "", "unknown key", "known: "+namesOf(keys)+"; a server can write a second log for other fields")
	}
	v, err := d.Token()
	switch v := v.(type) {
	case string:
		o[name] = v
	case json.Number:
		o[name] = v.String()
	default:
		if err != nil {
			return faultOf(name, line, "not JSON", "nginx: escape=json in log_format")
		}
		return faultOf(name, "", "not a string or a number", "")
	}
	return nil
}

// whole refuses an object that lacks a key.
func (o object) whole(keys []key) *strict.Fault {
	for _, k := range keys {
		if _, ok := o[k.name]; !ok && !k.optional {
			return faultOf(k.name, "", "missing", "use the whole log format of docs/format/access-log.md")
		}
	}
	return nil
}

func namesOf(keys []key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return strings.Join(names, ", ")
}
