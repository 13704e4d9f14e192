package answer

import (
	"errors"
	"strings"
	"testing"
	"time"
)

type Inner struct {
	List []int          `json:"list"`
	Map  map[string]int `json:"map"`
}

type outer struct {
	Inner
	In   []Inner   `json:"in"`
	Ptr  *Inner    `json:"ptr"`
	None *int      `json:"none"`
	Any  any       `json:"any"`
	At   time.Time `json:"at"` // marshals itself
	seen []int
}

func TestJSONHasNoNullList(t *testing.T) {
	const want = `{"list":[],"map":{},"in":[{"list":[],"map":{}}],"ptr":{"list":[],"map":{}},"none":null,"any":[],"at":"0001-01-01T00:00:00Z"}`
	v := outer{In: make([]Inner, 1), Ptr: &Inner{}, Any: []string(nil)}
	for format, want := range map[string]string{FormatJSONL: want + "\n" + want + "\n", FormatJSON: "[" + want + "," + want + "]"} {
		var b strings.Builder
		if err := JSON(&b, format, []outer{v, v}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if format == FormatJSON {
			got = strings.NewReplacer("\n", "", " ", "").Replace(got)
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", format, got, want)
		}
	}
	if v.Ptr.List != nil || v.In[0].Map != nil || v.seen != nil {
		t.Error("the answer itself was changed")
	}
}

func TestList(t *testing.T) {
	for _, c := range []struct {
		format string
		n      int
		err    error
		want   string
	}{
		{FormatJSON, 0, nil, "[]\n"},
		{FormatJSON, 2, nil, "[\n\"<\",\n\"<\"\n]\n"},
		{FormatJSON, 1, errors.New("cut"), "[\n\"<\""},
		{FormatJSON, 0, errors.New("cut"), ""},
		{FormatJSONL, 0, nil, ""},
		{FormatJSONL, 2, nil, "\"<\"\n\"<\"\n"},
	} {
		var b strings.Builder
		l := NewList(&b, c.format)
		for range c.n {
			if err := l.Add("<"); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(c.err); !errors.Is(err, c.err) {
			t.Errorf("close: %v", err)
		}
		if b.String() != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.format, b.String(), c.want)
		}
	}
}
