package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestLongestName(t *testing.T) {
	for body, want := range map[string]int{
		`{}`: 0, `{"a":1}`: 1, `{"ab" : {"abc"	:"long value"}}`: 3, `["long value"]`: 0, `{"a\"b":"c:d"}`: 4, `{"a\\":1}`: 3, `{"a":"x\\","bcd":1}`: 3,
		`"open`: 0, `"\`: 0, `{"a":"\"b\":"}`: 1, `:"":`: 0, ``: 0,
	} {
		if got := longestName([]byte(body)); got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
}

// FuzzLongestName: of JSON it is that of the decoder's tokens, and it never panics on what is none.
func FuzzLongestName(f *testing.F) {
	f.Add([]byte(`{"a\"":{"b":["c",{"d\\":":"}]}}`))
	f.Add([]byte(`{"\u0000":1,"":2}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := longestName(body)
		var v any
		if json.Unmarshal(body, &v) != nil {
			return
		}
		var flat bytes.Buffer
		if json.Compact(&flat, body) != nil {
			return
		}
		if want := longestName(flat.Bytes()); got != want {
			t.Errorf("%s: %d, and %d without spaces", body, got, want)
		}
		if m, ok := v.(map[string]any); ok {
			for name := range m {
				if len(name) > 6*got+6 || strings.IndexByte(name, 0) < 0 && len(name) > 3*got {
					t.Errorf("%s: %d, and there is %q", body, got, name)
				}
			}
		}
	})
}

// TestRefusalsAreShort, whatever they quote.
func TestRefusalsAreShort(t *testing.T) {
	long := strings.Repeat("é\x00\"", 1<<20)
	for _, err := range []error{fmt.Errorf("x: %s", long), &Error{Text: long, Code: BadRequest}, fmt.Errorf("%s: %w", long, &Error{Text: long, Code: Refused})} {
		if e := asError(err); len(e.Text) > mostText+len("...") || !strings.HasSuffix(e.Text, "...") {
			t.Errorf("%d bytes", len(e.Text))
		}
	}
	var q compareRequest
	if err := decode([]byte(`{"`+strings.Repeat("x", 1<<20)+`":1}`), &q); err == nil || len(err.Error()) > 100 {
		t.Errorf("%.200v", err)
	}
}
