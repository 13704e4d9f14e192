package token

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
)

var now = time.Unix(1_800_000_000, 0)

func newFile(t *testing.T) *File {
	return &File{Path: filepath.Join(t.TempDir(), "tokens"), Read: os.ReadFile}
}

func ann() Token {
	return Token{Name: "ann", Role: mtls.Operator, PoP: "chi", Expires: now.Unix() + 100}
}

// TestTokens: a secret is known by its hash alone, until it expires or is removed, and a second process
// sees each change.
func TestTokens(t *testing.T) {
	f := newFile(t)
	far := &File{Path: f.Path, Read: os.ReadFile} // of the controller
	if _, err := far.Holder("x", now); !errors.Is(err, ErrNone) {
		t.Errorf("without a file: %v", err)
	}
	secret, err := f.Add(ann())
	if err != nil || len(secret) != len(mark)+43 || !strings.HasPrefix(secret, mark) {
		t.Fatalf("%q, %v", secret, err)
	}
	other, err := f.Add(Token{Name: "board", Role: mtls.Viewer, Expires: now.Unix() + 100})
	if err != nil || other == secret {
		t.Fatal("two tokens are the same", err)
	}
	text, err := os.ReadFile(f.Path)
	info, serr := os.Stat(f.Path)
	if err != nil || serr != nil || bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte(mark)) || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, mode %v:\n%s", err, serr, info.Mode(), text)
	}
	for _, c := range []struct {
		secret string
		at     time.Time
		want   string
	}{
		{secret, now, "token ann"}, {other, now, "token board"}, {secret, now.Add(99 * time.Second), "token ann"},
		{secret, now.Add(100 * time.Second), "expired at 2027-01-15T08:01:40Z"}, {secret + "x", now, "no such"}, {secret[:len(secret)-1], now, "no such"},
		{strings.TrimPrefix(secret, mark), now, "no such"}, {"", now, "no such"}, {string(bytes.Repeat([]byte{0}, 32)), now, "no such"},
	} {
		id, err := far.Holder(c.secret, c.at)
		if got := id.String(); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.12q at %v: %v, %v; want %s", c.secret, c.at, got, err, c.want)
		}
	}
	if _, err := f.Add(ann()); err == nil {
		t.Error("a second token of one name")
	}
	if err := f.Remove("eve"); !errors.Is(err, ErrNone) {
		t.Errorf("remove of none: %v", err)
	}
	if err := errors.Join(f.Remove(secret), Token{Name: secret}.Check()); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("a token in place of its name: %v", err)
	}
	if err := f.Remove("ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := far.Holder(secret, now); !errors.Is(err, ErrNone) {
		t.Errorf("removed: %v", err)
	}
	if all, err := f.List(); err != nil || len(all) != 1 || all[0].Name != "board" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestFaults: a file with a fault, or that others could read, lets nobody in, and says so once it is right.
func TestFaults(t *testing.T) {
	f := newFile(t)
	secret, err := f.Add(ann())
	if err != nil {
		t.Fatal(err)
	}
	good, _ := os.ReadFile(f.Path)
	faults := 0
	f.Fault = func(error) { faults++ }
	write := func(text []byte) {
		if err := os.WriteFile(f.Path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{
		"", "congctl-tokens 2\n", string(good) + "x", string(good[:len(good)-5]), strings.Replace(string(good), "operator", "agent", 1),
		strings.Replace(string(good), "chi", "../chi", 1), strings.Replace(string(good), " chi", "  chi", 1), string(good) + string(good[len(first)+1:]),
		strings.Replace(string(good), "ann", strings.Repeat("a", 64), 1), strings.Replace(string(good), "1800000100", "+1800000100", 1),
	} {
		write([]byte(bad))
		for range 3 {
			if id, err := f.Holder(secret, now); !errors.Is(err, ErrNone) {
				t.Errorf("%q: %v, %v", bad, id, err)
			}
		}
	}
	if faults < 8 || faults > 10 { // some say the same
		t.Errorf("%d faults were told", faults)
	}
	write(good)
	if _, err := f.Holder(secret, now); err != nil {
		t.Errorf("right again: %v", err)
	}
	if _, err := f.Add(Token{Name: "a/b", Role: mtls.Viewer}); err == nil {
		t.Error("a name with a slash")
	}
	if err := os.WriteFile(f.Path+".new", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Add(Token{Name: "bob", Role: mtls.Viewer}); err == nil || !strings.Contains(err.Error(), "rm "+f.Path+".new") {
		t.Errorf("beside another process: %v", err)
	}
}

// FuzzParse: tokens or an error, and what is read is what would be written.
func FuzzParse(f *testing.F) {
	f.Add(Text([]Token{ann(), {Name: "b", Role: mtls.Viewer, Expires: 7}}))
	f.Add([]byte(first))
	f.Fuzz(func(t *testing.T, text []byte) {
		tokens, err := Parse(text)
		if err != nil && tokens != nil || err == nil && !bytes.Equal(Text(tokens), text) {
			t.Errorf("%q: %+v, %v", text, tokens, err)
		}
	})
}
