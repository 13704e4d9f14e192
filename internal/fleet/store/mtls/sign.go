package mtls

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// A Purpose comes before what is signed, so that a signature made for it is none of TLS and none of another purpose.
type Purpose string

// What is signed.
const (
	Commit Purpose = "congctl commit\n"
	Batch  Purpose = "congctl batch\n"
	Halt   Purpose = "congctl halt\n"
)

// Sign signs a message with the certificate's key, for who cannot ask over a connection. chain is the certificate with
// those that lead to the authority.
func (c *Credentials) Sign(purpose Purpose, message []byte) (signature []byte, chain [][]byte, err error) {
	certs, _ := c.now()
	cert := certs[0]
	key, ok := cert.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, nil, fmt.Errorf("sign: a key of type %T cannot", cert.PrivateKey)
	}
	digest, hash := digestOf(key.Public(), purpose, message)
	signature, err = key.Sign(rand.Reader, digest, hash)
	if err != nil {
		return nil, nil, fmt.Errorf("sign: %w", err)
	}
	return signature, cert.Certificate, nil
}

// digestOf is what a key of this type signs; Ed25519 takes the message itself.
func digestOf(key crypto.PublicKey, purpose Purpose, message []byte) ([]byte, crypto.Hash) {
	whole := append([]byte(purpose), message...)
	if _, ok := key.(ed25519.PublicKey); ok {
		return whole, 0
	}
	sum := sha256.Sum256(whole)
	return sum[:], crypto.SHA256
}

// Verify returns who signed a message, by a certificate of the authority that was valid at that time. A batch of what is
// revoked is refused. An entry in the log of decisions stays what it was when it was written.
func (c *Credentials) Verify(purpose Purpose, message, signature []byte, chain [][]byte, at time.Time) (Identity, error) {
	certs := make([]*x509.Certificate, len(chain))
	between := x509.NewCertPool()
	for i, der := range chain {
		var err error
		if certs[i], err = x509.ParseCertificate(der); err != nil {
			return Identity{}, fmt.Errorf("verify signature: %w", err)
		}
		between.AddCert(certs[i])
	}
	if len(certs) == 0 {
		return Identity{}, errors.New("verify signature: no certificate")
	}
	_, pool := c.now()
	o := x509.VerifyOptions{Roots: pool, Intermediates: between, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	found, err := certs[0].Verify(o)
	if err != nil {
		return Identity{}, fmt.Errorf("verify signature: %w", err)
	}
	if !signedBy(certs[0].PublicKey, purpose, message, signature) {
		return Identity{}, errors.New("verify signature: it is not of this message and certificate")
	}
	id, err := IdentityOf(certs[0])
	if err == nil && purpose == Batch {
		err = c.lookUp(verdict{id: id, serials: serialsOf(found)})
	}
	return id, err
}

func signedBy(key crypto.PublicKey, purpose Purpose, message, signature []byte) bool {
	digest, _ := digestOf(key, purpose, message)
	switch k := key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(k, digest, signature)
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(k, digest, signature)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(k, crypto.SHA256, digest, signature) == nil
	}
	return false
}
