package simulate

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/loop/policy"
)

// TestEachFieldOracle: random JSON, read by eachField and by encoding/json.
func TestEachFieldOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawObject(t, 2)
		want := map[string]json.RawMessage{}
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		got := map[string]json.RawMessage{}
		if err := eachField(b, func(key, value []byte) error { got[string(key)] = value; return nil }); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("%s:\ngot  %q\nwant %q", b, got, want)
		}
	})
}

func drawObject(t *rapid.T, depth int) []byte {
	b := []byte("{")
	for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
		if i > 0 {
			b = append(b, ',')
		}
		key, _ := json.Marshal(rapid.String().Draw(t, "key"))
		b = append(append(append(blanks(t, b), key...), blanks(t, nil)...), ':')
		b = blanks(t, append(blanks(t, b), drawValue(t, depth)...))
	}
	return append(blanks(t, b), '}')
}

func drawValue(t *rapid.T, depth int) []byte {
	switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
	case kind == 0 && depth > 0:
		return drawObject(t, depth-1)
	case kind == 1 && depth > 0:
		return append(append(append([]byte("[1, "), drawObject(t, depth-1)...), `,"]}"`...), ']')
	case kind == 2:
		b, _ := json.Marshal(rapid.Float64Range(-1e300, 1e300).Draw(t, "number"))
		return b
	case kind == 3:
		return []byte(rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word"))
	}
	b, _ := json.Marshal(rapid.String().Draw(t, "text"))
	return b
}

func blanks(t *rapid.T, b []byte) []byte {
	return append(b, rapid.SampledFrom([]string{"", " ", "\t", "  "}).Draw(t, "blanks")...)
}

// FuzzReadHistory: any bytes give a history or an error that names a line, and a
// history replays.
func FuzzReadHistory(f *testing.F) {
	good := line(noon, "ams", "198.18.1.0/24", 5, 1e5, 30000, 0.01)
	for _, s := range []string{"", good, good + good, strings.ReplaceAll(good, ",", " , "), `{"a":"\""}`, `{"n":[{}],"pop":"}`, "[]", "7", "{", "{}\n{}",
		strings.Replace(good, "ams", `\u0061\ud800`, 1), strings.Replace(good, "30000", "1e9", 1), good + "\n\n" + strings.Replace(good, "198.18", "2001:db8", 1)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ReadHistory(bytes.NewReader(b), 300, nil)
		if err != nil {
			if h != nil || !strings.Contains(err.Error(), "line ") {
				t.Fatalf("%v, %v", h, err)
			}
			return
		}
		if n := bytes.Count(b, []byte("\n")) + 1; h.Len() > n {
			t.Fatalf("%d rows of %d lines", h.Len(), n)
		}
		rounds, conns := 0, 0
		err = Replay(t.Context(), policy.DefaultRules(), h, func(r Round) error { rounds++; conns += r.Known; return nil })
		if err != nil || (rounds == 0) != (h.Len() == 0) {
			t.Fatalf("%d rounds of %d lines, %v", rounds, h.Len(), err)
		}
	})
}

func TestLongLine(t *testing.T) {
	good := line(noon, "ams", "198.18.1.0/24", 5, 1e5, -1, -1)
	_, err := ReadHistory(strings.NewReader(good+strings.Repeat(" ", maxLine)+good), 300, nil)
	if want := "line 2: longer than 65536 bytes; write one object a line"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// BenchmarkReadHistory tells the cost of a line.
func BenchmarkReadHistory(b *testing.B) {
	good := line(noon, "ams", "198.18.1.0/24", 5, 123456.7, 30000, 0.0123)
	b.ReportAllocs()
	b.SetBytes(int64(len(good)))
	d := newDecoder(300)
	for b.Loop() {
		if err := d.add([]byte(good)); err != nil {
			b.Fatal(err)
		}
	}
}
