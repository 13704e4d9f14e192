package plan

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/costtest"
)

func TestTextParseIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPlan().Draw(t, "plan")
		text := p.Text()
		q, sig, err := Parse(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if sig != nil {
			t.Fatal("a signature out of nowhere")
		}
		if again := q.Text(); !bytes.Equal(again, text) {
			t.Fatalf("text changed:\n%s\n%s", text, again)
		}
		p.Sort()
		if d := cmp.Diff(p, q, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("plan changed: %s", d)
		}
		if p.Hash() != q.Hash() || !bytes.Contains(text, []byte("\n"+hashPrefix+p.Hash()+"\n")) {
			t.Fatal("Hash is not the one in the file")
		}
		if d := Compare(p, q); len(d.Header)+len(d.Added)+len(d.Removed)+len(d.Changed) > 0 || d.Unchanged != len(p.Entries) {
			t.Fatalf("Compare sees a change: %s", d.Text())
		}
	})
}

func TestSamePlanSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPlan().Draw(t, "plan")
		want := p.Sign(testKey)
		q := *p
		q.Entries = rapid.Permutation(p.Entries).Draw(t, "order")
		before := slices.Clone(q.Entries)
		if got := q.Sign(testKey); !bytes.Equal(got, want) {
			t.Fatalf("another order, other bytes:\n%s\n%s", want, got)
		}
		if !slices.Equal(before, q.Entries) {
			t.Fatal("writing changed the plan")
		}
	})
}

// Even plans that are never valid print in one order, and cannot print a line
// that was not theirs.
func TestTextOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPlan().Draw(t, "plan")
		p.PoP, p.CapRule = rapid.String().Draw(t, "pop"), rapid.String().Draw(t, "cap rule")
		for i := range p.Entries {
			p.Entries[i].Reason = rapid.String().Draw(t, "reason")
			p.Entries[i].Cong = rapid.String().Draw(t, "cong")
		}
		p.Entries = append(p.Entries, p.Entries...)
		text := p.Text()
		q := *p
		q.Entries = rapid.Permutation(p.Entries).Draw(t, "order")
		if !bytes.Equal(text, q.Text()) {
			t.Fatal("duplicates print in the order they came")
		}
		if got, want := bytes.Count(text, []byte("\n")), p.lineFirst()+len(p.Entries); got != want {
			t.Fatalf("%d lines, want %d:\n%s", got, want, text)
		}
		for _, e := range p.Entries {
			if err := checkFree(CleanReason(e.Reason), MaxReasonBytes); err != nil {
				t.Fatalf("CleanReason(%q): %v", e.Reason, err)
			}
		}
	})
}

func TestSignedFileIsExact(t *testing.T) {
	p := testPlan()
	p.Entries = []Entry{{Prefix: mustPrefix("203.0.113.0/24"), Cong: "bbr", State: StateSelected, Since: noon, Reason: "duty 0.94"}}
	b := p.Sign(testKey)
	if _, err := Open(b, testPub()); err != nil {
		t.Fatal(err)
	}
	refuse := func(what string, i int, c []byte) {
		if _, err := Open(c, testPub()); err == nil {
			t.Errorf("accepted after %s at byte %d of:\n%s", what, i, c)
		}
	}
	for i := range b {
		for _, x := range []byte{0x01, 0x20, 0x80} {
			c := bytes.Clone(b)
			c[i] ^= x
			refuse("a change", i, c)
		}
		refuse("a deletion", i, slices.Delete(bytes.Clone(b), i, i+1))
		refuse("a cut", i, b[:i])
	}
	refuse("an appended newline", len(b), append(bytes.Clone(b), '\n'))
	refuse("a second copy", len(b), append(bytes.Clone(b), b...))
}

func TestSignedFileAnyByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := genPlan().Draw(t, "plan").Sign(testKey)
		i := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		v := rapid.Byte().Filter(func(v byte) bool { return v != b[i] }).Draw(t, "byte")
		inserted := slices.Insert(bytes.Clone(b), i, v)
		b[i] = v
		for _, c := range [][]byte{b, inserted} {
			if _, err := Open(c, testPub()); err == nil {
				t.Fatalf("accepted:\n%s", c)
			}
		}
	})
}

func TestVerify(t *testing.T) {
	signed := testPlan().Sign(testKey)
	other := ed25519.NewKeyFromSeed([]byte("the seed of quite another key 32"))
	for name, c := range map[string]struct {
		b    []byte
		pub  ed25519.PublicKey
		want string
	}{
		"good":      {signed, testPub(), ""},
		"unsigned":  {testPlan().Text(), testPub(), "line 19: signature: \"hash sha256"},
		"empty":     {nil, testPub(), "line 1: signature: the file ends here"},
		"other key": {signed, other.Public().(ed25519.PublicKey), "line 20: signature: signed with key " + KeyID(testPub())},
		"short key": {signed, testPub()[:31], "public key of 31 bytes; want 32"},
		"resigned": {bytes.Replace(testPlan().Sign(other), []byte(KeyID(other.Public().(ed25519.PublicKey))), []byte(KeyID(testPub())), 1), testPub(),
			"line 20: signature: bad signature"},
	} {
		err := Verify(c.b, c.pub)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestParseBounds(t *testing.T) {
	_, _, err := Parse(bytes.Repeat([]byte("x"), MaxFileBytes+1))
	if err == nil || !strings.Contains(err.Error(), "at most 8388608") {
		t.Errorf("a file above the bound: %v", err)
	}
	var bad strings.Builder
	bad.Write(bytes.TrimRight(testPlan().body(), "\n"))
	bad.WriteString("\n" + strings.Repeat("treat nonsense\n", 1000))
	_, _, err = Parse([]byte(bad.String()))
	if n := len(flatten(err)); n != maxParseErrors || !strings.HasSuffix(err.Error(), "reading stopped at line 38: there may be more") {
		t.Errorf("1000 bad lines, a wrong count and no hash give %d refusals: %v", n, err)
	}
	// A file of nothing but bad entries costs its own size and little more.
	flood := bad.String() + strings.Repeat("treat x\n", (MaxFileBytes-bad.Len())/8)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := Parse([]byte(flood)); err == nil {
		t.Error("a flood of bad lines is accepted")
	}
	runtime.ReadMemStats(&after)
	used := after.TotalAlloc - before.TotalAlloc
	if used > 4*MaxFileBytes {
		t.Errorf("%d bytes to refuse a file of %d", used, len(flood))
	}
	if _, _, err = Parse(testPlan().Text()[:500]); err == nil {
		t.Error("a cut file is accepted")
	}
}

// Whatever stands where a value should, its refusal is short and has not cost the value's length again and again.
func TestCostOfRefusing(t *testing.T) {
	lines := strings.SplitAfter(string(testPlan().Sign(testKey)), "\n")
	for i, line := range lines[:len(lines)-1] {
		words := strings.Fields(line)
		for at := range words {
			for _, value := range []string{strings.Repeat("\xff", 200), strings.Repeat("a", 200), strings.Repeat("\xff", MaxFileBytes-4<<10), strings.Repeat("9", MaxFileBytes-4<<10)} {
				changed := slices.Clone(words)
				changed[at] = value
				text := slices.Clone(lines)
				text[i] = strings.Join(changed, " ") + "\n"
				body := []byte(strings.Join(text, ""))
				cost, err := costtest.Of(func() error { _, _, err := Parse(body); return err })
				for _, e := range flatten(err) {
					if n := len(e.Error()); n > costtest.MaxText {
						t.Errorf("line %d, word %d: %d bytes of text: %s", i+1, at, n, e)
					}
				}
				if err == nil || cost.Bytes > costtest.MaxBytes {
					t.Errorf("line %d, word %d, %d bytes of %.1q: %v, %d bytes allocated", i+1, at, len(value), value, err, cost.Bytes)
				}
			}
		}
	}
}

// TestLongLine: a line that no plan has is refused by its length, wherever its newline is.
func TestLongLine(t *testing.T) {
	text := testPlan().Sign(testKey)
	at := bytes.IndexByte(text, '\n') + 1
	long := slices.Concat(text[:at], bytes.Repeat([]byte("x"), maxLineBytes), text[at:])
	const want = "line 2: file: no newline within 4096 bytes: this is no line of a plan"
	if _, _, err := Parse(long); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// BytesFor is above the longest plan that Validate lets through.
func TestBytesFor(t *testing.T) {
	p := testPlan()
	p.PoP, p.CapRule, p.Salt, p.GroupSettled, p.Experiment = strings.Repeat("p", maxPoPBytes), strings.Repeat("c", maxCapRuleBytes), make(Salt, maxSaltBytes), 1024, ExperimentOn
	for i := range 300 {
		p.Entries = append(p.Entries, Entry{Prefix: mustPrefix(fmt.Sprintf("2001:db8:%x:ff00::/56", 0xa000+i)), Cong: strings.Repeat("c", maxCongBytes),
			State: StateUncontrolled, Since: maxUnix, CapBytesPerS: math.MaxUint64, Reason: strings.Repeat("r", MaxReasonBytes)})
	}
	all := p.Entries
	for _, n := range []int{0, 1, 300} {
		p.Entries = all[:n]
		if text := p.Sign(testKey); len(text) > BytesFor(n) {
			t.Errorf("%d entries have %d bytes, BytesFor says %d", n, len(text), BytesFor(n))
		}
	}
	if BytesFor(math.MaxInt32) != MaxFileBytes {
		t.Error(BytesFor(math.MaxInt32))
	}
}

func TestRefusalsAreLines(t *testing.T) {
	p := testPlan()
	p.Serial, p.CapRule = 0, ""
	err := Validate(p, nil, limitsOf("fra2", []string{"bbr"}, noon))
	var lines []int
	for _, e := range flatten(err) {
		lines = append(lines, e.Line)
		text := strings.Split(string(p.Text()), "\n")[e.Line-1]
		if !strings.HasPrefix(text, e.Field+" ") {
			t.Errorf("%v points at %q", e, text)
		}
	}
	if !slices.Equal(lines, []int{2, 3, 16}) {
		t.Errorf("lines %v", lines)
	}
	if le, ok := errors.AsType[*LineError](err); !ok || le.Line != 2 {
		t.Errorf("errors.As gives %v", le)
	}
}

func TestZeroLimitsRefuse(t *testing.T) {
	p := testPlan()
	p.Entries = []Entry{{Prefix: mustPrefix("203.0.113.0/24"), Cong: "bbr", State: StateSelected, Since: noon, Reason: "r"}}
	if err := Validate(p, nil, limitsOf("ams1", []string{"bbr"}, noon)); err != nil {
		t.Fatal(err)
	}
	if n := len(flatten(Validate(p, nil, Limits{}))); n != 5 { // pop, created, treatment, cong, most entries
		t.Errorf("no limits set: %d refusals", n)
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(Compare(nil, testPlan()))
	if err != nil || !strings.Contains(string(b), `"from":0,"to":17`) {
		t.Errorf("diff: %s %v", b, err)
	}
	b, err = json.Marshal(testPlan())
	if err != nil || !strings.Contains(string(b), `"salt":"7369787465656e206279746573206f72"`) {
		t.Errorf("plan: %s %v", b, err)
	}
}

// A plan that was printed as JSON is the same plan when it is read back.
// limitsOf returns the policy's limits, for one PoP on one kernel.
func limitsOf(pop string, congs []string, now int64) Limits {
	return Limits{PoP: pop, Max: 500, Congs: congs, Now: now, MaxLifeS: MaxLifeS, MaxChange: 0.20, MinChange: MinChange, Ramp: 25, RoundSeconds: 300}
}

func TestJSONRoundTrip(t *testing.T) {
	p := testPlan()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back Plan
	if err := json.Unmarshal(b, &back); err != nil || back.Hash() != p.Hash() {
		t.Errorf("read back: %v, hash %s of %s", err, back.Hash(), b)
	}
	for _, bad := range []string{"abc", "zz"} {
		s := Salt("old")
		if err := s.UnmarshalText([]byte(bad)); err == nil || string(s) != "old" {
			t.Errorf("salt %q: %v, now %q", bad, err, s)
		}
	}
}

// flatten returns the errors of Parse and Validate one by one.
func flatten(err error) []*LineError {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*LineError
		for _, e := range many.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	if e, ok := errors.AsType[*LineError](err); ok {
		return []*LineError{e}
	}
	return nil
}
