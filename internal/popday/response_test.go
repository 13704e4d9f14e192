package popday

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

const one = `{"network":1,"session":0,"request":2,"start_us":10,"first_us":20,"end_us":30,"asked_bytes":5,"got_bytes":5,"fresh":true,"http2":false,"cong":"cubic","sent_bytes":6,"retrans_bytes":1,"min_rtt_us":7}`

func TestReadResponses(t *testing.T) {
	all, err := ReadResponses(strings.NewReader(one+"\n"+strings.Replace(one, `}`, `,"trouble":"reset"}`, 1)+"\n"), 2)
	if err != nil || len(all) != 2 || !all[0].whole() || all[1].whole() || all[0].goodput() != 250_000 {
		t.Errorf("%+v, %v", all, err)
	}
	for text, want := range map[string]string{
		"{}\nx":                              "line 2",
		`{"network":2}`:                      "network 2 of 2",
		`{"network":-1}`:                     "network -1",
		`{"start_us":2,"end_us":1}`:          "ends before it begins",
		`{"retrans_bytes":2,"sent_bytes":1}`: "more sent again",
		`{"session":-1}`:                     "session -1",
		`{} {}`:                              "more than one",
		`{"netwerk":1}`:                      "unknown field",
		strings.Repeat(" ", maxLine+1):       "read responses",
	} {
		if all, err := ReadResponses(strings.NewReader(text), 2); err == nil || all != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func TestReadFacts(t *testing.T) {
	f, err := ReadFacts([]byte(`{"policy":"loop","seed":3,"networks":[{"class":"a","prefix":"198.18.0.0/24","path":{}}],"product":{}}`))
	if err != nil || f.Name() != "loop-3" || f.Networks[0].Prefix.String() != "198.18.0.0/24" {
		t.Errorf("%+v, %v", f, err)
	}
	for _, text := range []string{"", "{}", `{"policy":"loop","seed":1}`, `{"policy":"loop","seed":1,"networks":[{"prefix":"1.2.3.4"}]}`} {
		if _, err := ReadFacts([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// FuzzReadResponses: responses or an error, and what is read is written the same.
func FuzzReadResponses(f *testing.F) {
	f.Add([]byte(one + "\n" + one))
	f.Add([]byte(`{"network":1e9}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := ReadResponses(bytes.NewReader(b), 3)
		if err != nil {
			if all != nil {
				t.Fatal("both")
			}
			return
		}
		var out bytes.Buffer
		for _, r := range all {
			if err := json.NewEncoder(&out).Encode(r); err != nil {
				t.Fatal(err)
			}
		}
		again, err := ReadResponses(&out, 3)
		if err != nil || !reflect.DeepEqual(all, again) {
			t.Fatalf("%v: %+v, %+v", err, all, again)
		}
	})
}
