// Package mtls is how the parts of a fleet trust each other: mutual TLS, with the role in the
// certificate.
//
// It makes no certificate: an operator's own authority does (docs/fleet.md has the commands).
//
// Its trap: a certificate is trusted by the authority's signature and by nothing else, so the
// authority must be the fleet's own. A public one would let in its other customers.
package mtls

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Role is what a certificate's holder may do.
type Role string

// The roles. An agent sends its own host's records and reads its own PoP's orders; an operator may
// act on every PoP; a viewer may read every PoP.
const (
	Agent      Role = "agent"
	Controller Role = "controller"
	Operator   Role = "operator"
	Viewer     Role = "viewer"
)

// Identity is the holder of a certificate, or of a token.
type Identity struct {
	Role  Role
	PoP   string // of an agent; of a token that is for one PoP only
	Name  string // host of an agent, name of a person, a controller or a token
	Token bool
}

// String is the identity as events name it.
func (i Identity) String() string {
	if i.Token {
		return "token " + i.Name
	}
	return i.URI().String()
}

// URI is how a certificate says who holds it, in a subject alternative name of type URI:
// congctl://agent/POP/HOST, congctl://controller/NAME, congctl://operator/NAME or
// congctl://viewer/NAME.
func (i Identity) URI() *url.URL {
	path := "/" + i.Name
	if i.Role == Agent {
		path = "/" + i.PoP + path
	}
	return &url.URL{Scheme: scheme, Host: string(i.Role), Path: path}
}

const scheme = "congctl"

// maxWord bounds a PoP's and a host's name, as in a plan file and in DNS.
const maxWord = 63

// IdentityOf reads the one identity of a certificate. It refuses a certificate with none or with
// two, and a name that is not a word: names become files' names and lines of a log.
func IdentityOf(c *x509.Certificate) (id Identity, err error) {
	own := slices.DeleteFunc(slices.Clone(c.URIs), func(u *url.URL) bool { return u.Scheme != scheme })
	if len(own) != 1 {
		return id, fmt.Errorf("read certificate of %q: %d names of the form congctl://ROLE/NAME, want 1", c.Subject.CommonName, len(own))
	}
	id.Role = Role(own[0].Host)
	words := strings.Split(strings.TrimPrefix(own[0].EscapedPath(), "/"), "/")
	want := 1
	switch id.Role {
	case Agent:
		want, id.PoP = 2, words[0]
	case Controller, Operator, Viewer:
	default:
		return Identity{}, fmt.Errorf("read certificate name %q: role %q is not agent, controller, operator or viewer", own[0], id.Role)
	}
	if id.Name = words[len(words)-1]; len(words) != want {
		return Identity{}, fmt.Errorf("read certificate name %q: %d parts behind the role, want %d", own[0], len(words), want)
	}
	for _, w := range words {
		if !Word(w) {
			return Identity{}, fmt.Errorf("read certificate name %q: %q is not a word of A-Z a-z 0-9 - _ . with at most %d bytes", own[0], w, maxWord)
		}
	}
	return id, nil
}

// Word reports whether s may be a name. A first dot would hide a file or lead out of its folder.
func Word(s string) bool {
	return s != "" && len(s) <= maxWord && s[0] != '.' && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}
