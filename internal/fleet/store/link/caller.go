package link

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
)

// Tokens knows the holders of tokens.
type Tokens interface {
	Holder(secret string, now time.Time) (mtls.Identity, error)
}

// ErrUnknown is a caller that shows nothing by which it can be known.
var ErrUnknown = errors.New("no certificate of the fleet's authority, and no valid token in the header Authorization: Bearer")

// Identify returns whose a request is: the holder of the certificate, which the listener's TLS has
// verified, else of the token in its header. An address, which ends in logs and histories, is not
// looked at.
func Identify(r *http.Request, t Tokens, now time.Time) (mtls.Identity, error) {
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		return mtls.IdentityOf(r.TLS.PeerCertificates[0])
	}
	secret, _ := bearer(r)
	if secret == "" {
		return mtls.Identity{}, ErrUnknown
	}
	id, err := t.Holder(secret, now)
	if err != nil {
		return mtls.Identity{}, errors.Join(ErrUnknown, err)
	}
	return id, nil
}

// bearer returns the token in a request's header; a password of a proxy in front is none.
func bearer(r *http.Request) (secret string, shown bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return secret, true
}

type identityKey struct{}

// Authenticated is h for callers that Identify knows; it passes the identity on.
func Authenticated(h http.Handler, t Tokens) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := Identify(r, t, time.Now())
		switch {
		case errors.Is(err, ErrUnknown):
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "unauthorized", err)
		case err != nil:
			refuse(w, http.StatusForbidden, "forbidden", err)
		default:
			h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, id)))
		}
	})
}

// Recognized is h for all callers: one without a token is stranger. A token that is not valid is refused,
// so that its holder learns of it.
func Recognized(h http.Handler, t Tokens, stranger mtls.Identity) http.Handler {
	known := Authenticated(h, t)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, shown := bearer(r); shown {
			known.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, stranger)))
	})
}

// refuse answers as loop/control does, whose clients read it.
func refuse(w http.ResponseWriter, status int, code string, err error) {
	b, _ := json.Marshal(map[string]string{"error": strings.ReplaceAll(err.Error(), "\n", ": "), "code": code}) // only text: it always encodes
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the peer may have left
}

// Caller returns the identity behind a request of an authenticated handler.
func Caller(ctx context.Context) mtls.Identity {
	id, _ := ctx.Value(identityKey{}).(mtls.Identity)
	return id
}
