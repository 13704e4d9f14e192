// Package mtlstest makes certificates of a fleet for tests: one authority, and what it signs.
//
// It is for tests only. An operator's authority is openssl or a tool of their own.
//
// Its trap: keys are made anew in each test, so that no key in the tree can be trusted by mistake.
package mtlstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
)

// Life of a certificate: longer than any test, of which the longest besieges a fleet for an hour.
const Life = 12 * time.Hour

// Authority signs certificates.
type Authority struct {
	t    testing.TB
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	n    int64
}

// New makes an authority in a folder of the test's.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir(), key: newKey(t)}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(Life)}
	der, err := x509.CreateCertificate(rand.Reader, own, own, a.key.Public(), a.key)
	check(t, err)
	a.cert, err = x509.ParseCertificate(der)
	check(t, err)
	write(t, a.ca(), "CERTIFICATE", der)
	return a
}

func (a *Authority) ca() string { return filepath.Join(a.dir, "ca.pem") }

// Issue signs a certificate for an identity, valid for loopback addresses; edit may change it first.
func (a *Authority) Issue(id mtls.Identity, edit ...func(*x509.Certificate)) mtls.Files {
	a.t.Helper()
	return a.IssueURI(id.URI(), edit...)
}

// IssueFor is Issue for a key of the caller's.
func (a *Authority) IssueFor(key crypto.Signer, id mtls.Identity) mtls.Files {
	a.t.Helper()
	return a.issue(key, id.URI())
}

// IssueURI is Issue for a name that need not be an identity's.
func (a *Authority) IssueURI(name *url.URL, edit ...func(*x509.Certificate)) mtls.Files {
	a.t.Helper()
	return a.issue(newKey(a.t), name, edit...)
}

func (a *Authority) issue(key crypto.Signer, name *url.URL, edit ...func(*x509.Certificate)) mtls.Files {
	a.t.Helper()
	a.n++
	c := &x509.Certificate{SerialNumber: big.NewInt(1 + a.n), URIs: []*url.URL{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(Life)}
	for _, e := range edit {
		e(c)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key.Public(), a.key)
	check(a.t, err)
	dir, err := os.MkdirTemp(a.dir, "")
	check(a.t, err)
	f := mtls.Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: a.ca()}
	write(a.t, f.Cert, "CERTIFICATE", der)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	check(a.t, err)
	write(a.t, f.Key, "PRIVATE KEY", raw)
	return f
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	return key
}

func write(t testing.TB, path, kind string, der []byte) {
	t.Helper()
	check(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
