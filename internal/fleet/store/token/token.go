// Package token keeps who may ask a controller, and act on a dashboard, without a certificate: browsers and
// scripts, each with a secret of its own.
//
// It is not how agents are known; that is store/mtls.
//
// Its trap: a token is as good as a certificate's key for all who read it. The file has only its hash,
// so the secret is seen once.
package token

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
)

// Token is what the file has of one.
type Token struct {
	Name    string
	Role    mtls.Role // operator or viewer
	PoP     string    // the only one that it may ask about; "": all
	Expires int64     // Unix seconds
	Sum     [sha256.Size]byte
}

// Identity is the token's holder.
func (t Token) Identity() mtls.Identity {
	return mtls.Identity{Role: t.Role, PoP: t.PoP, Name: t.Name, Token: true}
}

const (
	first  = "congctl-tokens 1"
	anyPoP = "*"
)

// Text writes tokens, one a line behind the first, in their order.
func Text(tokens []Token) []byte {
	b := []byte(first + "\n")
	for _, t := range tokens {
		pop := t.PoP
		if pop == "" {
			pop = anyPoP
		}
		b = fmt.Appendf(b, "%s %s %s %d %x\n", t.Name, t.Role, pop, t.Expires, t.Sum)
	}
	return b
}

// Parse reads what Text writes, and nothing else: a file that was edited into something near it must not
// let somebody in.
func Parse(text []byte) ([]Token, error) {
	lines := strings.Split(string(text), "\n")
	if lines[0] != first {
		return nil, fmt.Errorf("line 1: %.40q: want %q", lines[0], first)
	}
	var tokens []Token
	for i, line := range lines[1:] {
		if line == "" && i == len(lines)-2 {
			break
		}
		t, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		if slices.ContainsFunc(tokens, func(o Token) bool { return o.Name == t.Name }) {
			return nil, fmt.Errorf("line %d: name %q: a second one", i+2, t.Name)
		}
		tokens = append(tokens, t)
	}
	if !bytes.Equal(Text(tokens), text) {
		return nil, fmt.Errorf("line %d: file: not as it was written", len(lines))
	}
	return tokens, nil
}

func parseLine(line string) (t Token, err error) {
	words := strings.Split(line, " ")
	if len(words) != 5 {
		return t, fmt.Errorf("%d words, want 5: name, role, pop, expiry, sum", len(words))
	}
	if t = (Token{Name: words[0], Role: mtls.Role(words[1]), PoP: words[2]}); t.PoP == anyPoP {
		t.PoP = ""
	}
	if err := t.Check(); err != nil {
		return t, err
	}
	if t.Expires, err = strconv.ParseInt(words[3], 10, 64); err != nil {
		return t, fmt.Errorf("expiry %.20q: not a number of seconds", words[3])
	}
	if n, err := hex.Decode(t.Sum[:], []byte(words[4])[:min(len(words[4]), 2*len(t.Sum))]); err != nil || n != len(t.Sum) {
		return t, fmt.Errorf("sum %.20q: not %d hex digits", words[4], 2*len(t.Sum))
	}
	return t, nil
}

// Check refuses what no token may be.
func (t Token) Check() error {
	switch {
	case isSecret(t.Name):
		return errSecret
	case !mtls.Word(t.Name):
		return fmt.Errorf("name %.70q: use letters, digits, - _ . and at most 63 bytes", t.Name)
	case t.Role != mtls.Operator && t.Role != mtls.Viewer:
		return fmt.Errorf("role %.20q: use operator or viewer", t.Role)
	case t.PoP != "" && !mtls.Word(t.PoP):
		return fmt.Errorf("pop %.70q: use the name of a PoP", t.PoP)
	}
	return nil
}
