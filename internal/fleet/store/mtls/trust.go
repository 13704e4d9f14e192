package mtls

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// A handshake says that a certificate was trusted then. Its connection may last for weeks, so the certificate is judged
// again at each action: against the authority of now, the time of now and the list of what is revoked.

// ErrUntrusted is a certificate that is not trusted, or is no longer.
var ErrUntrusted = errors.New("not trusted")

// verdict is that a certificate is trusted by a pool between two times.
type verdict struct {
	id          Identity
	pool        *x509.CertPool
	from, until time.Time
	serials     []string // of the certificate and of those that lead to the authority
}

// maxVerdicts are kept, some 500 bytes each: one a host of the largest fleet. Then all are forgotten.
const maxVerdicts = 10_000

// Revoke ends the trust in certificates with these names (congctl://ROLE/...) or serial numbers (hex), and in all that
// those have signed. It replaces the list before.
func (c *Credentials) Revoke(names []string) {
	revoked := map[string]bool{}
	for _, n := range names {
		revoked[n] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revoked = revoked
}

// Trust returns whose the first certificate of a peer's chain is, if it is trusted at this moment. A signature is
// verified once as long as the authority's file stays as it is: the rest is a look at that file (BenchmarkTrust: 18 us).
func (c *Credentials) Trust(chain []*x509.Certificate, now time.Time) (Identity, error) {
	pool := c.authority()
	sum := sha256.Sum256(chain[0].Raw)
	c.mu.Lock()
	v, known := c.verdicts[sum]
	c.mu.Unlock()
	if !known || v.pool != pool || now.Before(v.from) || !now.Before(v.until) {
		var err error
		if v, err = judge(chain, pool, now); err != nil {
			return Identity{}, err
		}
		c.keep(sum, v)
	}
	return v.id, c.lookUp(v)
}

func (c *Credentials) keep(sum [sha256.Size]byte, v verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.verdicts == nil || len(c.verdicts) >= maxVerdicts {
		c.verdicts = map[[sha256.Size]byte]verdict{}
	}
	c.verdicts[sum] = v
}

// lookUp refuses what is revoked.
func (c *Credentials) lookUp(v verdict) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.revoked) == 0 {
		return nil
	}
	if c.revoked[v.id.String()] {
		return fmt.Errorf("certificate of %s: %w: its name is revoked; take the name out of the list, or issue one with another name", v.id, ErrUntrusted)
	}
	for _, s := range v.serials {
		if c.revoked[s] {
			return fmt.Errorf("certificate of %s: %w: serial %s is revoked; issue another certificate", v.id, ErrUntrusted, s)
		}
	}
	return nil
}

// judge verifies a client's chain.
func judge(chain []*x509.Certificate, pool *x509.CertPool, now time.Time) (v verdict, err error) {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	found, err := chain[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return v, distrust(chain[0], now)
	}
	v = verdict{pool: pool, from: chain[0].NotBefore, until: chain[0].NotAfter, serials: serialsOf(found)}
	for _, c := range found[0] {
		if c.NotAfter.Before(v.until) {
			v.until = c.NotAfter
		}
		if c.NotBefore.After(v.from) {
			v.from = c.NotBefore
		}
	}
	v.id, err = IdentityOf(chain[0])
	return v, err
}

// distrust says why in our words, and what to do.
func distrust(c *x509.Certificate, now time.Time) error {
	whose := "serial " + Serial(c.SerialNumber)
	if id, err := IdentityOf(c); err == nil {
		whose = id.String()
	}
	why := "the present authority (fleet.ca of the controller) has not signed it, or has itself expired; issue it again"
	switch {
	case now.After(c.NotAfter):
		why = "it expired at " + c.NotAfter.UTC().Format(time.RFC3339) + "; issue it again"
	case now.Before(c.NotBefore):
		why = "it is valid from " + c.NotBefore.UTC().Format(time.RFC3339) + " on; compare both clocks"
	}
	return fmt.Errorf("certificate of %s: %w: %s", whose, ErrUntrusted, why)
}

func serialsOf(chains [][]*x509.Certificate) (all []string) {
	for _, chain := range chains {
		for _, c := range chain {
			all = append(all, Serial(c.SerialNumber))
		}
	}
	return all
}

// Serial is a serial number as fleet.revoked has it: `openssl x509 -noout -serial` in lower case, without leading zeros.
func Serial(n *big.Int) string { return strings.ToLower(n.Text(16)) }
