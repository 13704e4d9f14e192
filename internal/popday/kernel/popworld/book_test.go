package popworld

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/popday"
)

// TestLinesAreJSON: what the book writes by hand is what encoding/json reads.
func TestLinesAreJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64Range(0, 1<<50)
		want := popday.Response{
			Network: rapid.IntRange(0, 500).Draw(t, "network"), Session: rapid.IntRange(0, 1<<20).Draw(t, "session"),
			Request: rapid.IntRange(0, 9).Draw(t, "request"), StartUs: number.Draw(t, "start"), FirstUs: number.Draw(t, "first"),
			EndUs: number.Draw(t, "end"), Asked: number.Draw(t, "asked"), Got: number.Draw(t, "got"), Fresh: rapid.Bool().Draw(t, "fresh"),
			HTTP2: rapid.Bool().Draw(t, "http2"), Cong: rapid.SampledFrom([]string{"", "cubic", "bbr"}).Draw(t, "cong"),
			SentBytes: number.Draw(t, "sent"), RetransBytes: number.Draw(t, "retrans"), MinRTTUs: rapid.Uint32().Draw(t, "rtt"),
			Trouble: rapid.StringOf(rapid.RuneFrom([]rune("ab \"\\\n<"))).Draw(t, "trouble"),
		}
		var got popday.Response
		line := appendLine(nil, &want)
		d := json.NewDecoder(strings.NewReader(string(line)))
		d.DisallowUnknownFields()
		if err := d.Decode(&got); err != nil || got != want {
			t.Fatalf("%s: %v\n%+v\n%+v", line, err, got, want)
		}
	})
}

// TestBookIsInTheOrderOfTheSchedule, whatever the order in which responses ended.
func TestBookIsInTheOrderOfTheSchedule(t *testing.T) {
	b := &book{}
	for _, r := range []popday.Response{{Session: 2, Asked: 100_000}, {Session: 0, Request: 1, Trouble: "x"}, {Session: 1}, {Session: 0}} {
		b.add(&r)
	}
	var order []string
	for line := range strings.Lines(string(b.text())) {
		var r popday.Response
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		order = append(order, string(rune('0'+r.Session))+string(rune('0'+r.Request)))
	}
	if got := strings.Join(order, " "); got != "00 01 10 20" {
		t.Error(got)
	}
	if all, large, trouble := b.count(); all != 4 || large != 1 || trouble != 1 {
		t.Errorf("%d, %d, %d", all, large, trouble)
	}
}
