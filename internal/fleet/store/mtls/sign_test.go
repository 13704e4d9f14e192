package mtls_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"slices"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, f mtls.Files) *mtls.Credentials {
	t.Helper()
	c, err := mtls.Open(f, func(err error) { t.Error(err) })
	check(t, err)
	return c
}

// TestSign with each type of key that openssl makes.
func TestSign(t *testing.T) {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	ec, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	check(t, err)
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	check(t, err)
	one := mtls.Identity{Role: mtls.Controller, Name: "one"}
	for name, key := range map[string]crypto.Signer{"Ed25519": ed, "P-384": ec, "RSA": rs} {
		a := mtlstest.New(t)
		signer, other := open(t, a.IssueFor(key, one)), open(t, a.Issue(mtls.Identity{Role: mtls.Controller, Name: "two"}))
		message := []byte("message")
		signature, chain, err := signer.Sign(mtls.Commit, message)
		check(t, err)
		if id, err := other.Verify(mtls.Commit, message, signature, chain, time.Now()); id != one || err != nil {
			t.Errorf("%s: %v, %v", name, id, err)
		}
		bad := slices.Clone(signature)
		bad[len(bad)-1] ^= 1
		_, foreign, err := open(t, mtlstest.New(t).Issue(one)).Sign(mtls.Commit, message)
		check(t, err)
		_, second, err := other.Sign(mtls.Commit, message)
		check(t, err)
		for what, f := range map[string]func() (mtls.Identity, error){
			"another message": func() (mtls.Identity, error) {
				return other.Verify(mtls.Commit, []byte("massage"), signature, chain, time.Now())
			},
			"a flipped bit":   func() (mtls.Identity, error) { return other.Verify(mtls.Commit, message, bad, chain, time.Now()) },
			"another purpose": func() (mtls.Identity, error) { return other.Verify(mtls.Batch, message, signature, chain, time.Now()) },
			"no signature":    func() (mtls.Identity, error) { return other.Verify(mtls.Commit, message, nil, chain, time.Now()) },
			"no certificate":  func() (mtls.Identity, error) { return other.Verify(mtls.Commit, message, signature, nil, time.Now()) },
			"no certificate's": func() (mtls.Identity, error) {
				return other.Verify(mtls.Commit, message, signature, [][]byte{bytes.Repeat([]byte{1}, 9)}, time.Now())
			},
			"another certificate": func() (mtls.Identity, error) {
				return other.Verify(mtls.Commit, message, signature, second, time.Now())
			},
			"another authority": func() (mtls.Identity, error) {
				return other.Verify(mtls.Commit, message, signature, foreign, time.Now())
			},
			"an expired one": func() (mtls.Identity, error) {
				return other.Verify(mtls.Commit, message, signature, chain, time.Now().Add(48*time.Hour))
			},
		} {
			if id, err := f(); err == nil {
				t.Errorf("%s: %s was believed to be of %s", name, what, id)
			}
		}
	}
}
