package plan

import (
	"bytes"
	"testing"
)

// FuzzParse: never a panic, exactly one of value and error, and a file that is
// accepted is the file that would be written.
func FuzzParse(f *testing.F) {
	p := testPlan()
	f.Add(p.Text())
	f.Add(p.Sign(testKey))
	p.Entries = []Entry{
		{mustPrefix("203.0.113.0/24"), "bbr", StateSelected, noon, 1250000, "duty 0.94"},
		{mustPrefix("2001:db8:0:ab00::/56"), "cubic", StateSelected, noon, 0, "duty 0.89"},
	}
	f.Add(p.Sign(testKey))
	f.Add(bytes.ReplaceAll(p.Text(), []byte("\n"), []byte("\r\n")))
	f.Add([]byte("congctl-plan 1\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkParse(t, b)
		// The mutator seldom finds a hash: give it the right one, so that it gets past.
		lines := bytes.Split(b, []byte("\n"))
		for i, l := range lines {
			if bytes.HasPrefix(l, []byte(hashPrefix)) {
				body := b[:len(bytes.Join(lines[:i], []byte("\n")))+1]
				lines[i] = []byte(hashPrefix + hashOf(body))
				checkParse(t, bytes.Join(lines, []byte("\n")))
				break
			}
		}
	})
}

func checkParse(t *testing.T, b []byte) {
	p, sig, err := Parse(b)
	if (p == nil) == (err == nil) || err != nil && sig != nil {
		t.Fatalf("plan %v, signature %v, error %v", p, sig, err)
	}
	verr := Verify(b, testPub())
	if err != nil {
		if verr == nil {
			t.Fatalf("signed, but %v", err)
		}
		return
	}
	text := p.Text()
	if sig == nil && !bytes.Equal(text, b) || !bytes.HasPrefix(b, text) {
		t.Fatalf("read:\n%s\nwritten:\n%s", b, text)
	}
	l := limitsOf(p.PoP, []string{p.Treatment}, p.Created)
	for _, e := range flatten(Validate(p, nil, l)) {
		if e.Line < 1 || e.Line > bytes.Count(b, []byte("\n")) {
			t.Fatalf("refusal outside the file: %v", e)
		}
	}
	if signed := p.Sign(testKey); verr == nil && !bytes.Equal(signed, b) {
		t.Fatal("a second spelling of a signed plan")
	}
	p.Program(noon*second, 0, 900*second)
}
