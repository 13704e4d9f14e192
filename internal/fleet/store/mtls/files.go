package mtls

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"sync"

	"github.com/congctl/congctl/internal/linux/plainfile"
)

// Files name a certificate with its chain, its key, and the authority that signs the other
// side's, all in PEM. Who has a token in place of a certificate has a CA only.
type Files struct{ Cert, Key, CA string }

// Credentials are the files' content. A file that changed is read again at the next handshake, so
// that a renewed certificate needs no restart; one with a fault leaves the last good content in
// use. Several goroutines may use them.
type Credentials struct {
	files Files
	fault func(error)

	mu       sync.Mutex // guards all below
	seen     [3]fs.FileInfo
	told     string            // the last fault, which stands until the files are right
	certs    []tls.Certificate // one, or none
	pool     *x509.CertPool
	verdicts map[[sha256.Size]byte]verdict // by the certificate's fingerprint
	revoked  map[string]bool               // names and serial numbers
}

// Open reads the files; fault takes each fault of a later reading, once.
func Open(f Files, fault func(error)) (*Credentials, error) {
	c := &Credentials{files: f, fault: fault}
	return c, c.read()
}

// MaxPEM is beyond any chain of certificates, and any bundle of authorities; in bytes.
const MaxPEM = 4 << 20

// ReadPair reads a certificate and its key. It refuses a key that others may read.
func ReadPair(cert, key string) (tls.Certificate, error) {
	c, err := plainfile.ReadGuarded(cert, MaxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	k, err := plainfile.ReadSecret(key, MaxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(c, k)
}

func (c *Credentials) read() error {
	var seen [3]fs.FileInfo
	for i, name := range []string{c.files.Cert, c.files.Key, c.files.CA} {
		if name == "" && i < 2 && c.files.Cert == c.files.Key {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("read certificates: %w", err)
		}
		seen[i] = info
	}
	if c.pool != nil && slices.EqualFunc(seen[:], c.seen[:], same) {
		return nil
	}
	var certs []tls.Certificate
	if c.files.Cert != "" {
		cert, err := ReadPair(c.files.Cert, c.files.Key)
		if err != nil {
			return fmt.Errorf("read certificate %s with key %s: %w", c.files.Cert, c.files.Key, err)
		}
		certs = append(certs, cert)
	}
	b, err := plainfile.ReadGuarded(c.files.CA, MaxPEM)
	if err != nil {
		return fmt.Errorf("read authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return fmt.Errorf("read authority %s: no certificate in PEM", c.files.CA)
	}
	c.certs, c.pool, c.seen = certs, pool, seen
	return nil
}

// same reports whether a file is as it was: a copy with an old date is another one.
func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// authority is the pool of now; it looks at its own file alone, since it is asked for at each request.
func (c *Credentials) authority() *x509.CertPool {
	info, err := os.Stat(c.files.CA)
	c.mu.Lock()
	pool, old, told := c.pool, c.seen[2], c.told
	c.mu.Unlock()
	if err != nil || !same(info, old) || told != "" { // the right file may have come back
		_, pool = c.now()
	}
	return pool
}

func (c *Credentials) now() ([]tls.Certificate, *x509.CertPool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := ""
	if err := c.read(); err != nil {
		if text = err.Error(); text != c.told {
			c.fault(err)
		}
	}
	c.told = text
	return c.certs, c.pool
}

// Self is the identity of the certificate in use, which there must be.
func (c *Credentials) Self() (Identity, error) {
	certs, _ := c.now()
	return IdentityOf(certs[0].Leaf)
}

// Server is for a listener. A client's certificate must be the authority's; without one it is for the
// handler to know the client.
func (c *Credentials) Server() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: protocols, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		certs, pool := c.now()
		return &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: protocols, Certificates: certs, ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven}, nil
	}}
}

// protocols are offered by name: a config made by a callback gets none from net/http.
var protocols = []string{"h2", "http/1.1"}

// Dial connects to a controller. The name that is dialled must be in its certificate, as with any
// server; and the certificate must be a controller's: an agent's that was stolen must not play
// one. The configuration is of now, which a [tls.Config] cannot have for an authority.
func (c *Credentials) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	certs, pool := c.now()
	d := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: protocols, Certificates: certs, RootCAs: pool,
		VerifyConnection: c.isController}}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("connect to controller: %w", err)
	}
	return conn, nil
}

func (c *Credentials) isController(s tls.ConnectionState) error {
	id, err := IdentityOf(s.PeerCertificates[0])
	if err == nil && id.Role != Controller {
		err = fmt.Errorf("its certificate is that of %s", id)
	}
	if err == nil {
		err = c.lookUp(verdict{id: id, serials: serialsOf(s.VerifiedChains)})
	}
	if err != nil {
		return fmt.Errorf("trust controller: %w", err)
	}
	return nil
}
