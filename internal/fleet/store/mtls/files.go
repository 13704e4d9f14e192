package mtls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

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

	mu    sync.Mutex
	at    [3]time.Time      // the files' times of change
	certs []tls.Certificate // one, or none
	pool  *x509.CertPool
}

// Open reads the files; fault takes each fault of a later reading.
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
	var at [3]time.Time
	for i, name := range []string{c.files.Cert, c.files.Key, c.files.CA} {
		if name == "" && i < 2 && c.files.Cert == c.files.Key {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("read certificates: %w", err)
		}
		at[i] = info.ModTime()
	}
	if c.pool != nil && at == c.at {
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
	c.certs, c.pool, c.at = certs, pool, at
	return nil
}

func (c *Credentials) now() ([]tls.Certificate, *x509.CertPool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(); err != nil {
		c.fault(err)
	}
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
		VerifyConnection: isController}}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("connect to controller: %w", err)
	}
	return conn, nil
}

func isController(s tls.ConnectionState) error {
	id, err := IdentityOf(s.PeerCertificates[0])
	if err == nil && id.Role != Controller {
		err = fmt.Errorf("its certificate is that of %s", id)
	}
	if err != nil {
		return fmt.Errorf("trust controller: %w", err)
	}
	return nil
}
