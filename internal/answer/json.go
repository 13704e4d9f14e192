package answer

import (
	"bufio"
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// Formats of an answer; docs/format/json.md is their convention.
const (
	FormatTable = "table" // for people
	FormatJSON  = "json"  // one array or object, indented
	FormatJSONL = "jsonl" // an array's elements, or the object, one on each line
)

// Formats lists them in the order of the help text.
var Formats = []string{FormatTable, FormatJSON, FormatJSONL}

// JSON writes v in one of the two JSON formats. Every nil slice is written as [].
func JSON(w io.Writer, format string, v any) error {
	full := filled(reflect.ValueOf(v))
	if format == FormatJSONL && full.Kind() == reflect.Slice {
		l := NewList(w, format)
		var err error
		for i := 0; i < full.Len() && err == nil; i++ {
			err = l.Add(full.Index(i).Interface())
		}
		return l.Close(err)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if format == FormatJSON {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(full.Interface())
}

// List writes the elements of one long array as they come, each on a line of its own.
type List struct {
	out   *bufio.Writer
	array bool
	n     int
}

// NewList starts an array in one of the two JSON formats.
func NewList(w io.Writer, format string) *List {
	return &List{out: bufio.NewWriterSize(w, 64<<10), array: format == FormatJSON}
}

// Add writes one element.
func (l *List) Add(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(filled(reflect.ValueOf(v)).Interface()); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return l.AddJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// AddJSON writes one element that is JSON already, without a line's end.
func (l *List) AddJSON(b []byte) error {
	switch {
	case l.array && l.n == 0:
		l.out.WriteString("[\n")
	case l.array:
		l.out.WriteString(",\n")
	case l.n > 0:
		l.out.WriteString("\n")
	}
	l.n++
	_, err := l.out.Write(b) // keeps the first error
	return err
}

// Close ends the array. After an error it stays open: what is there is not all.
func (l *List) Close(err error) error {
	switch {
	case err != nil:
	case l.array && l.n == 0:
		l.out.WriteString("[]\n")
	case l.array:
		l.out.WriteString("\n]\n")
	case l.n > 0:
		l.out.WriteString("\n")
	}
	return errors.Join(err, l.out.Flush())
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// filled returns a copy of v in which no slice and no map is nil: JSON would write null.
func filled(v reflect.Value) reflect.Value {
	if !v.IsValid() || v.Type().Implements(jsonMarshaler) || v.Type().Implements(textMarshaler) {
		return v
	}
	switch c := reflect.New(v.Type()).Elem(); v.Kind() {
	case reflect.Slice:
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			c.Index(i).Set(filled(v.Index(i)))
		}
		return c
	case reflect.Map:
		c.Set(reflect.MakeMap(v.Type()))
		for it := v.MapRange(); it.Next(); {
			c.SetMapIndex(it.Key(), filled(it.Value()))
		}
		return c
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		return filledBehind(v, c)
	case reflect.Struct:
		c.Set(v)
		for i := range v.NumField() {
			if c.Field(i).CanSet() {
				c.Field(i).Set(filled(v.Field(i)))
			}
		}
		return c
	}
	return v
}

func filledBehind(v, c reflect.Value) reflect.Value {
	full := filled(v.Elem())
	if v.Kind() == reflect.Pointer {
		p := reflect.New(full.Type())
		p.Elem().Set(full)
		full = p
	}
	c.Set(full)
	return c
}
