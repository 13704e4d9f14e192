package plan

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Signature: Ed25519 (RFC 8032) over every byte before the signature line, including the hash line.
// The text starts with the format's name, so that a plan's signature cannot stand for anything
// else. The key's id is not signed; it must be that of the verifying key.

const (
	hashPrefix = "hash sha256 "
	signPrefix = "signature ed25519 "
)

// Signature is the last line of a signed file.
type Signature struct {
	KeyID string // KeyID of the public key
	Bytes [ed25519.SignatureSize]byte
}

// KeyID returns the name of a public key: the first 16 hex digits of its SHA-256.
func KeyID(pub ed25519.PublicKey) string {
	sum := sha256.Sum256(pub)
	return hex.EncodeToString(sum[:8])
}

// Sign writes the plan with a signature. Like crypto/ed25519 it panics on a key of the wrong length.
// Ed25519 is deterministic: the same plan and key give the same bytes.
func (p *Plan) Sign(key ed25519.PrivateKey) []byte {
	b := p.Text()
	sig := ed25519.Sign(key, b)
	b = append(b, signPrefix...)
	b = append(b, KeyID(key.Public().(ed25519.PublicKey))...)
	b = append(b, ' ')
	b = hex.AppendEncode(b, sig)
	return append(b, '\n')
}

// Verify checks a file's signature and nothing else: the holder of one of the keys wrote these
// bytes. Two keys are in use while one replaces the other. It returns a *LineError.
func Verify(b []byte, keys ...ed25519.PublicKey) error {
	for _, pub := range keys {
		if len(pub) != ed25519.PublicKeySize {
			return fmt.Errorf("verify plan: public key of %d bytes; want %d", len(pub), ed25519.PublicKeySize)
		}
	}
	cut := bytes.LastIndexByte(bytes.TrimSuffix(b, []byte("\n")), '\n') + 1
	line := bytes.Count(b[:cut], []byte("\n")) + 1
	if err := verify(b[:cut], b[cut:], keys); err != nil {
		return &LineError{line, "signature", err}
	}
	return nil
}

func verify(signed, last []byte, keys []ed25519.PublicKey) error {
	s, ok := strings.CutSuffix(string(last), "\n")
	if !ok {
		return errCut
	}
	if !strings.HasPrefix(s, signPrefix) {
		return fmt.Errorf("%s: the plan is not signed", quote(s))
	}
	sig, err := parseSignature(s)
	if err != nil {
		return err
	}
	var ids []string
	for _, pub := range keys {
		id := KeyID(pub)
		ids = append(ids, id)
		if sig.KeyID != id {
			continue
		}
		if !ed25519.Verify(pub, signed, sig.Bytes[:]) {
			return errors.New("bad signature: the file is not what the key's holder wrote")
		}
		return nil
	}
	return fmt.Errorf("signed with key %s; this host trusts %s", sig.KeyID, cmp.Or(strings.Join(ids, ", "), "none"))
}

// Open verifies a file and then parses it, for a plan that came from elsewhere.
func Open(b []byte, keys ...ed25519.PublicKey) (*Plan, error) {
	if err := Verify(b, keys...); err != nil {
		return nil, err
	}
	p, _, err := Parse(b)
	return p, err
}

func parseSignature(line string) (*Signature, error) {
	rest, ok := strings.CutPrefix(line, signPrefix)
	id, digits, cut := strings.Cut(rest, " ")
	if !ok || !cut {
		return nil, fmt.Errorf("%s: want \"%s<key id> <128 hex digits>\"", quote(line), signPrefix)
	}
	if !lowerHex(id, 16) {
		return nil, fmt.Errorf("%s: a key id has 16 lower-case hex digits", quote(id))
	}
	if !lowerHex(digits, 2*ed25519.SignatureSize) {
		return nil, fmt.Errorf("%s: a signature has %d lower-case hex digits", quote(digits), 2*ed25519.SignatureSize)
	}
	sig := &Signature{KeyID: id}
	_, err := hex.Decode(sig.Bytes[:], []byte(digits))
	return sig, err
}

// lowerHex refuses other forms that encoding/hex reads, so that one signature has one spelling.
func lowerHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}
