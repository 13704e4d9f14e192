package mtls_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

func chainOf(t testing.TB, f mtls.Files) []*x509.Certificate {
	t.Helper()
	b, err := os.ReadFile(f.Cert)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(b)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return []*x509.Certificate{c}
}

// TestTrust: at each time anew, with what was found out before and without.
func TestTrust(t *testing.T) {
	a := mtlstest.New(t)
	ann := mtls.Identity{Role: mtls.Operator, Name: "ann"}
	own, hers, now := a.Issue(mtls.Identity{Role: mtls.Controller, Name: "main"}), a.Issue(ann), time.Now() // serials 2, 3
	c, err := mtls.Open(own, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range []struct {
		at      time.Duration
		revoked []string
		want    string
	}{
		{at: 0},
		{at: mtlstest.Life - time.Minute},
		{at: mtlstest.Life + time.Minute, want: "it expired at "},
		{at: -2 * time.Hour, want: "compare both clocks"},
		{at: 0},
		{revoked: []string{"congctl://viewer/ann", "congctl://operator/anna", "33"}},
		{revoked: []string{"congctl://operator/ann"}, want: "its name is revoked"},
		{revoked: []string{"3"}, want: "serial 3"},
		{revoked: []string{"1"}, want: "serial 1"}, // the authority's own
		{at: 0},
	} {
		c.Revoke(s.revoked)
		id, err := c.Trust(chainOf(t, hers), now.Add(s.at))
		if s.want == "" && (err != nil || id != ann) || s.want != "" && (!errors.Is(err, mtls.ErrUntrusted) || !strings.Contains(err.Error(), s.want)) {
			t.Errorf("step %d: %v, %v", i, id, err)
		}
	}
	if _, err := c.Trust(chainOf(t, mtlstest.New(t).Issue(ann)), now); !errors.Is(err, mtls.ErrUntrusted) {
		t.Errorf("another authority's: %v", err)
	}
}

// TestFaultOnce: files that are wrong are told of once, not at each request, and again after they were right.
func TestFaultOnce(t *testing.T) {
	a, faults := mtlstest.New(t), 0
	own := a.Issue(mtls.Identity{Role: mtls.Controller, Name: "main"})
	good, err := os.ReadFile(own.CA)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mtls.Open(own, func(error) { faults++ })
	if err != nil {
		t.Fatal(err)
	}
	chain := chainOf(t, a.Issue(mtls.Identity{Role: mtls.Viewer, Name: "bob"}))
	for i, text := range []string{"nonsense", string(good), "more nonsense"} {
		replace(t, own.CA, text)
		for range 3 {
			if _, err := c.Trust(chain, time.Now()); err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		}
		if want := []int{1, 1, 2}[i]; faults != want {
			t.Errorf("step %d: told %d times, want %d", i, faults, want)
		}
	}
}

// TestFaultAgain: the right file is moved away and back, so that it is as it was; then it is wrong in the same way.
func TestFaultAgain(t *testing.T) {
	a, faults := mtlstest.New(t), 0
	own := a.Issue(mtls.Identity{Role: mtls.Controller, Name: "main"})
	c, err := mtls.Open(own, func(error) { faults++ })
	if err != nil {
		t.Fatal(err)
	}
	chain := chainOf(t, a.Issue(mtls.Identity{Role: mtls.Viewer, Name: "bob"}))
	aside := filepath.Join(t.TempDir(), "ca")
	for want := 1; want <= 2; want++ {
		if err := errors.Join(os.Rename(own.CA, aside), os.WriteFile(own.CA, []byte("nonsense"), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, bad := c.Trust(chain, time.Now())
		back := os.Rename(aside, own.CA)
		_, good := c.Trust(chain, time.Now())
		if err := errors.Join(bad, back, good); err != nil || faults != want {
			t.Errorf("told %d times, want %d; %v", faults, want, err)
		}
	}
}

// replace puts another file in a file's place, with the same date and length where that is possible.
func replace(t *testing.T, path, text string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(t.TempDir(), "next")
	if err := errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Chtimes(next, info.ModTime(), info.ModTime()), os.Rename(next, path)); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkTrust is what judging a certificate adds to each request.
func BenchmarkTrust(b *testing.B) {
	a := mtlstest.New(b)
	c, err := mtls.Open(a.Issue(mtls.Identity{Role: mtls.Controller, Name: "main"}), func(err error) { b.Error(err) })
	if err != nil {
		b.Fatal(err)
	}
	c.Revoke([]string{"congctl://operator/eve", "ff"})
	chain := chainOf(b, a.Issue(mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "edge-1"}))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Trust(chain, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}
