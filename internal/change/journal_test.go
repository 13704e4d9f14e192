package change

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func sample() Plan {
	return Plan{
		Header: Header{ID: "000007-host", Subject: "host", Verb: "host enable bbr",
			At: time.Date(2026, 11, 22, 9, 45, 0, 0, time.UTC), Boot: "b1", Machine: "m"},
		Steps: []Step{
			{Kind: Sysctl, Target: "net.ipv4.tcp_congestion_control", Old: Text("cubic"), New: Text("bbr"), Why: "new connections"},
			{Kind: File, Target: "/etc/x.conf", New: FileText("a = b\n"), Why: "after a reboot"},
			{Kind: File, Target: "/etc/y", Old: Value{Present: true, Text: "\xff\n", Mode: 0o600, UID: 1, GID: 2}, New: FileText("<&>"), Why: "odd"},
		},
	}
}

// TestJournal runs testdata/journal: each command is a line of the journal, and the
// answer is the state, or why the line cannot come here.
func TestJournal(t *testing.T) {
	datadriven.RunTest(t, "testdata/journal", func(t *testing.T, d *datadriven.TestData) string {
		b := Opening(sample())
		if d.Cmd == "opening" {
			return string(b)
		}
		j, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, w := range strings.Split(d.Input, "\n") {
			l := readLine(t, w)
			if err := j.Take(l); err != nil {
				return out.String() + "error: " + err.Error() + "\n"
			}
			b = append(b, l.Bytes()...)
		}
		again, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(j.State, again.State); diff != "" {
			t.Errorf("read again: %s", diff)
		}
		fmt.Fprintf(&out, "%s, boot %s, open", j.Phase, j.Boot)
		for i := range j.Marks {
			if j.Open(i) {
				fmt.Fprintf(&out, " %d", i)
			}
		}
		for i, m := range j.Marks {
			fmt.Fprintf(&out, "\n%d %s", i, m.Status)
			if m.Lost {
				out.WriteString(", lost")
			}
		}
		return out.String() + "\n"
	})
}

// readLine reads "EVENT [STEP] [TEXT]"; the text of a done is the value read back.
func readLine(t *testing.T, s string) Line {
	l := Line{}
	w := strings.Fields(s)
	l.Event = Event(w[0])
	if w = w[1:]; len(w) > 0 {
		if _, err := fmt.Sscan(w[0], &l.At); err == nil {
			w = w[1:]
		}
	}
	l.Text = strings.Join(w, " ")
	if l.Event == Done && l.Text != "" {
		v := Text(l.Text)
		l.Now, l.Text = &v, ""
	}
	return l
}

// TestEveryPrefix: a journal that is cut anywhere has no plan yet, or reads as the
// whole lines before the cut.
func TestEveryPrefix(t *testing.T) {
	b := Opening(sample())
	opening := len(b)
	now := Text("bbr")
	for _, l := range []Line{{Event: Intend}, {Event: Done, Now: &now}, {Event: Undo, Text: "no"}, {Event: Back}} {
		b = append(b, l.Bytes()...)
	}
	for n := range len(b) + 1 {
		j, err := Parse(b[:n])
		if n < opening {
			if !errors.Is(err, ErrTorn) {
				t.Errorf("cut at %d: %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if want := bytes.LastIndexByte(b[:n], '\n') + 1; j.Whole != want {
			t.Errorf("cut at %d: %d bytes are whole, want %d", n, j.Whole, want)
		}
	}
}

// TestEveryFlip: one changed byte is noticed, wherever it is.
func TestEveryFlip(t *testing.T) {
	b := append(Opening(sample()), Line{Event: Intend}.Bytes()...)
	last := len(Line{Event: Intend}.Bytes())
	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 0x20
		j, err := Parse(c)
		if err == nil && (i < len(b)-last || j.Whole != len(b)-last) {
			t.Errorf("a changed byte at %d is not noticed", i)
		}
	}
}

// anyBytes are what a kernel, a file system or a program may hand over: not always UTF-8.
var anyBytes = rapid.Custom(func(t *rapid.T) string {
	return string(rapid.SliceOfN(rapid.SampledFrom([]byte("a<&\"\\ \n\x00\x7f\x80\xe2\xa8\xff")), 0, 6).Draw(t, "bytes"))
})

// TestRoundTrip: whatever a plan and its lines have, the journal that is written can be
// read, and targets and values are the same to the byte.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := sample()
		p.Machine, p.Verb = anyBytes.Draw(t, "machine"), anyBytes.Draw(t, "verb")
		p.Steps[0].Target, p.Steps[0].Why = "x"+anyBytes.Draw(t, "target"), anyBytes.Draw(t, "why")
		p.Steps[0].New = Value{Present: true, Text: "n" + anyBytes.Draw(t, "value"),
			Mode: rapid.Uint32Range(0, 0o7777).Draw(t, "mode"), UID: rapid.Uint32().Draw(t, "uid")}
		text := anyBytes.Draw(t, "text")
		j, err := Parse(append(Opening(p), Line{Event: Undo, Text: text}.Bytes()...))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*string{&p.Machine, &p.Verb, &p.Steps[0].Why} {
			*s = readable(*s) // for people only
		}
		if diff := cmp.Diff(p, j.Plan); diff != "" || j.Phase != Undoing {
			t.Errorf("%s: %s", j.Phase, diff)
		}
	})
}

// TestWholeLineIsNeverTorn: a last line whose checksum fits was written so, perhaps by a
// later congctl. It must not be cut off.
func TestWholeLineIsNeverTorn(t *testing.T) {
	for want, text := range map[string]string{
		`unknown field "more"`: `{"e":"intend","more":1}`,
		"not spelled as":       `{"e": "intend"}`,
		"more than one value":  `{"e":"intend"}{}`,
		"after the plan":       `{"e":"later"}`,
	} {
		line := fmt.Sprintf("%08x %s\n", crc32.Checksum([]byte(text), castagnoli), text)
		j, err := Parse(append(Opening(sample()), line...))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line 6") {
			t.Errorf("%s: %v, %v", text, err, j)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for want, spoil := range map[string]func(*Plan){
		"none may be empty":     func(p *Plan) { p.Boot = "" },
		"0 steps":               func(p *Plan) { p.Steps = nil },
		"stands twice":          func(p *Plan) { p.Steps[1].Target = p.Steps[2].Target },
		"are the same":          func(p *Plan) { p.Steps[0].Old = p.Steps[0].New },
		"without kind or tar":   func(p *Plan) { p.Steps[0].Target = "" },
		"subject \"shape \\xff": func(p *Plan) { p.Subject = "shape \xff" },
		"kind \"\\xff\"":        func(p *Plan) { p.Steps[0].Kind = "\xff" },
		"year 10000":            func(p *Plan) { p.At = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		p := sample()
		spoil(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	b := Opening(sample())
	f.Add(b)
	f.Add(append(bytes.Clone(b), Line{Event: Intend}.Bytes()...))
	odd := sample()
	odd.Steps[0].Target = "eth\xff"
	f.Add(append(Opening(odd), Line{Event: Undo, Text: "\xff"}.Bytes()...))
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := Parse(b)
		if err != nil {
			return
		}
		again, err := Parse(b[:j.Whole])
		if err != nil {
			t.Fatalf("its own whole lines: %v", err)
		}
		if diff := cmp.Diff(j, again); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzTree(f *testing.F) {
	f.Add(Tree([]Node{{Kind: "mq", Handle: 0xcc000000, Parent: RootParent}, {Kind: "fq", Parent: 0xcc000001, Default: true}}).Text)
	f.Add("fq_codel ffffffff 0 0800010000280000")
	f.Add("tbf ffffffff 70000 - 1c0001")
	f.Add("mq 0 ffffffff -\nfq 80010000 1 0800\n")
	f.Fuzz(func(t *testing.T, text string) {
		nodes, err := ParseTree(text)
		if err != nil {
			return
		}
		again, err := ParseTree(Tree(nodes).Text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(nodes, again, cmp.Transformer("empty", func(b []byte) string { return string(b) })); diff != "" {
			t.Error(diff)
		}
		if !Qdisc.Same(Text(text), Text(Tree(nodes).Text)) {
			t.Error("a tree is not the same as itself")
		}
	})
}

// TestSizeTable: a qdisc with a size table is another one than the same without, as journals of earlier versions have all.
func TestSizeTable(t *testing.T) {
	const with, without = "mq ffffffff 70000 -; pfifo 70001 200000 07000000 1c0001ff", "mq ffffffff 70000 -; pfifo 70001 200000 07000000"
	nodes, err := ParseTree(with)
	if err != nil || string(nodes[1].Stab) != "\x1c\x00\x01\xff" || nodes[0].Stab != nil || Tree(nodes).Text != with {
		t.Errorf("%+v, %v", nodes, err)
	}
	for _, k := range []Kind{Qdisc, Egress} {
		if k.Same(Text(with), Text(without)) || !k.Same(Text(with), Text(with)) {
			t.Errorf("%s: tells no table from another", k)
		}
	}
	for _, text := range []string{"pfifo 1 2 - ", "pfifo 1 2 - -", "pfifo 1 2 - 1c0", "pfifo 1 2 - 1c 1c"} {
		if _, err := ParseTree(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// TestFirstForm: a journal with the first form of a link's qdiscs and in the kernel's order
// reads as one of today.
func TestFirstForm(t *testing.T) {
	was, is := Text("mq cc000000 ffffffff *\nfq 0 cc000001 *\nfq 0 cc000002 *\n"), Text("mq ffffffff cc000000 *; fq cc000001 0 *; fq cc000002 0 *")
	old := Text("mq ffffffff 80010000 -; fq 80010002 10000 01; fq 80010001 0 -")
	p := sample()
	p.Steps = []Step{{Kind: Qdisc, Target: "eth0", New: was}, {Kind: Egress, Target: "eth0", Old: old}, {Kind: File, Target: "/a", New: was}}
	b := append(Opening(p), Line{Event: Intend}.Bytes()...)
	b = append(b, Line{Event: Done, Now: &was}.Bytes()...)
	j, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if j.Steps[0].New != is || *j.Marks[0].Wrote != is || j.Steps[2].New != was {
		t.Errorf("read %+v, wrote %v", j.Steps, j.Marks[0].Wrote)
	}
	if want := "mq ffffffff 80010000 -; fq 80010001 0 -; fq 80010002 10000 01"; j.Marks[1].Old != Text(want) {
		t.Errorf("read %v, want %s", j.Marks[1].Old, want)
	}
}

// FuzzSpelling: no target, value or text makes a journal that cannot be read.
func FuzzSpelling(f *testing.F) {
	f.Add("eth\xff", "\u2028", "\x00")
	f.Add("a\nb", "�", "")
	f.Fuzz(func(t *testing.T, target, value, text string) {
		p := sample()
		p.Steps[0].Target, p.Steps[1].New.Text = target, value
		if p.Check() != nil {
			return
		}
		j, err := Parse(append(Opening(p), Line{Event: Undo, Text: text}.Bytes()...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, j.Plan); diff != "" {
			t.Error(diff)
		}
	})
}

// A limit that was interrupted between its writes, in either direction, is still ours; the
// same state after a finished write is somebody's.
func TestLimitMidway(t *testing.T) {
	limit, foreign := Text("shaped 1000 3028 9000 fq_codel"), Text("pfifo ffffffff 70000 07000000")
	for _, c := range []struct {
		kind     Kind
		old, now Value
		act      Act // of an undo after an interruption
	}{
		{Egress, foreign, Text("shaped 1000 3028 9000 -"), Write},
		{Egress, foreign, Text("noqueue ffffffff 0 -"), Write},
		{Egress, Text("shaped 5000 3028 9000 fq_codel"), Text("shaped 5000 3028 9000 -"), Write},
		{Egress, foreign, Text("shaped 7000 3028 9000 -"), Object},
		{Egress, foreign, Text("shaped 1000 3028 9000 -; pfifo c0c70001 100000 09000000"), Object},
		{Egress, Text("shaped 5000 3028 9000 -; pfifo c0c70001 100000 09000000"), Text("shaped 5000 3028 9000 -"), Write},
		{Egress, foreign, Text("bfifo ffffffff 80000 -"), Object},
		{Ingress, Text("none"), Text(CutOff), Write},
		{Ingress, Text("none"), Text("shaped 7000 3028 9000 -"), Object},
	} {
		p := sample()
		p.Steps = []Step{{Kind: c.kind, Target: "eth0", Old: c.old, New: limit}}
		for _, events := range [][]Line{{{Event: Intend}}, {{Event: Intend}, {Event: Done, Now: &limit}, {Event: Undo}, {Event: Back}}} {
			j := &Journal{Plan: p, State: NewState(p)}
			for _, l := range events {
				if err := j.Take(l); err != nil {
					t.Fatal(err)
				}
			}
			if v := j.Backward(0, c.now, false); v.Act != c.act {
				t.Errorf("%s %s, after %d events: %+v", c.kind, c.now.Text, len(events), v)
			}
		}
		j := &Journal{Plan: p, State: NewState(p)}
		for _, l := range []Line{{Event: Intend}, {Event: Done, Now: &limit}, {Event: Apply}} {
			if err := j.Take(l); err != nil {
				t.Fatal(err)
			}
		}
		if v := j.Backward(0, c.now, false); v.Act != Object {
			t.Errorf("%s %s, done: %+v", c.kind, c.now.Text, v)
		}
	}
}

// TestCutOffStaysAway: an ingress limit that was cut off when a change took it away is not
// to be cut off again by the undo, which nobody could do.
func TestCutOffStaysAway(t *testing.T) {
	p := sample()
	p.Steps = []Step{{Kind: Ingress, Target: "eth0", Old: Text(CutOff), New: Text(NoIngress)}}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	for now, want := range map[string]Act{NoIngress: Nothing, CutOff: Nothing, "shaped 7000 3028 9000 -": Object} {
		j := &Journal{Plan: p, State: NewState(p)}
		for _, l := range []Line{{Event: Intend}, {Event: Done, Now: &p.Steps[0].New}, {Event: Apply}} {
			if err := j.Take(l); err != nil {
				t.Fatal(err)
			}
		}
		if v := j.Backward(0, Text(now), false); v.Act != want {
			t.Errorf("%s: %+v", now, v)
		}
	}
}
